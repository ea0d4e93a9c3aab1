// The settings that results depend on. Runs that agree in them are the same run.
#pragma once

#include <string>
#include <vector>

#include "schema/describe/description.h"
#include "schema/json/value.h"

namespace fovea::schema {

/// Whether places of data (Effect::kPlace) count; only used to tell parts of one plan apart.
enum class Places { kIgnored, kCounted };

struct Counted {
  Places places = Places::kIgnored;
  /// Paths of settings whose files are compared by name, since their content is not known
  /// (contents.h).
  std::vector<std::string> by_name = {};
};

/// A resolved object without the fields that have no effect, in inner objects and components too.
Value identity(const Description& description, const Value& resolved, const Counted& counted = {});

}  // namespace fovea::schema
