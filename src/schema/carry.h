// Changing the type of a component: options that both types know stay, the others are dropped and
// named. Merging knows no schema, so it only marks what may have to go (Value::carried,
// Value::covered); with the schema at hand drop_foreign_options() decides.
#pragma once

#include "schema/describe/description.h"
#include "schema/json/value.h"
#include "schema/notes.h"

namespace fovea::schema {

/// `name` laid over `covered`: a type chosen by its name alone, which remembers what it was laid
/// over.
Value laid_over(Value name, const Value& covered);

/// Marks the options of an object whose type is about to be chosen anew.
void mark_carried(Value& object);

/// Takes away the marked options that the type beside them does not have but another of its
/// registry does, and notes `model.attention: dropped qk_norm, which m_dgsa does not have`. What no
/// type knows stays and is refused as unknown later.
void drop_foreign_options(const Description& root, Value& value, Notes& notes);

}  // namespace fovea::schema
