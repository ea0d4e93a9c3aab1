// Descriptions as JSON Schema (draft 7, which editors support best). An editor uses it to complete,
// explain and check a file.
#pragma once

#include <string>

#include "schema/describe/description.h"
#include "schema/json/value.h"

namespace fovea::schema {

/// The schema of an object with these fields. Nothing is required, since a file may extend another
/// one, and everything may be null, which clears a value. Registries become references to
/// "#/definitions/<kind>".
Value json_schema(const Description& description);

/// One definition for each registry that the description reaches, and one for each entry,
/// "<kind>.<name>": the schema of a component depends on its type.
Value json_definitions(const Description& description);

}  // namespace fovea::schema
