// Methods of explanation, from the words of cases.
#pragma once

#include <string>

#include "explain/methods/method.h"
#include "verify/case.h"

namespace fovea::verify {

/// A method of the library and its options.
struct Asked {
  std::string name;  // in the case
  const explain::Method* method;
  schema::Value options;
};

/// From {"method": ..., options}. Throws NotImplemented for an unknown method or option.
Asked asked_method(const std::string& name, const Config& words, const Case& c);

}  // namespace fovea::verify
