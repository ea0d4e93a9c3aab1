// The methods that a user asks for, with their options.
#pragma once

#include <string>
#include <vector>

#include "explain/methods/method.h"

namespace fovea::explain {

struct AskedMethod {
  const Method* method;
  schema::Value options;
};

/// `names` of methods, and `assignments` as "smoothgrad.samples=50". Throws ConfigError for unknown
/// methods and options, with the nearest known ones, for a method that is named twice, and for
/// options of methods that are not asked for.
std::vector<AskedMethod> asked_methods(const std::vector<std::string>& names,
                                       const std::vector<std::string>& assignments);

/// For a help: every method with what it is and its options.
std::string method_lines();

}  // namespace fovea::explain
