// Changing the type of a component: options that both types know stay, others are dropped with a
// note. Merging does not know the schema, so it only marks options that may have to go
// (Value::carried, Value::covered); drop_foreign_options(), which knows the schema, decides.
#pragma once

#include "schema/describe/description.h"
#include "schema/json/value.h"
#include "schema/notes.h"

namespace fovea::schema {

/// `name`, a type chosen by its name alone, with a memory of the value that it replaces.
Value laid_over(Value name, const Value& covered);

/// Marks the options of an object whose type is about to change.
void mark_carried(Value& object);

/// Removes marked options that the object's type does not have but another type of its registry
/// does, and notes `model.attention: dropped qk_norm, which m_dgsa does not have`. Options that no
/// type knows stay, and are refused as unknown later.
void drop_foreign_options(const Description& root, Value& value, Notes& notes);

}  // namespace fovea::schema
