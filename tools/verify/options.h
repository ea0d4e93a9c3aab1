// From the words of golden cases to the options of registries.
#pragma once

#include <initializer_list>
#include <utility>

#include "schema/description.h"
#include "verify/case.h"

namespace fovea::verify {

/// Copies the given options of a case's configuration under their own or another name.
void take(const Case& c, schema::Value& to,
          std::initializer_list<std::pair<const char*, const char*>> keys);

/// Validates the options and fills in defaults, as an experiment file would.
schema::Component resolved(const schema::Choices& choices, const schema::Value& value);

}  // namespace fovea::verify
