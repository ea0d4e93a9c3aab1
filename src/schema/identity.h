// What makes two runs the same run: the settings their results depend on.
#pragma once

#include <string>
#include <vector>

#include "schema/describe/description.h"
#include "schema/json/value.h"

namespace fovea::schema {

/// Whether places of data (Effect::kPlace) count: only to tell two parts of one plan apart.
enum class Places { kIgnored, kCounted };

struct Counted {
  Places places = Places::kIgnored;
  /// Paths of settings whose files count by their names, since their content is not known
  /// (contents.h).
  std::vector<std::string> by_name = {};
};

/// A resolved object without the fields of no effect, here, in objects inside and in components.
Value identity(const Description& description, const Value& resolved, const Counted& counted = {});

}  // namespace fovea::schema
