// What makes two runs the same run: the settings their results depend on.
#pragma once

#include "schema/description.h"
#include "schema/value.h"

namespace fovea::schema {

/// Whether places of data (Effect::kPlace) count: only to tell two parts of one plan apart.
enum class Places { kIgnored, kCounted };

/// A resolved object without the fields of no effect, here, in objects inside and in components.
Value identity(const Description& description, const Value& resolved,
               Places places = Places::kIgnored);

}  // namespace fovea::schema
