// Descriptions as JSON Schema (draft 7, which editors know best), by which an editor completes,
// explains and checks a file while it is written.
#pragma once

#include <string>

#include "schema/describe/description.h"
#include "schema/json/value.h"

namespace fovea::schema {

/// The schema of an object with these fields. What a file may leave to the file it extends is not
/// required, and everything may be null, which clears. Registries become references to
/// "#/definitions/<kind>".
Value json_schema(const Description& description);

/// One definition for each registry that the description leads to, and one for each entry,
/// "<kind>.<name>": the schema of a part with a type depends on its type.
Value json_definitions(const Description& description);

}  // namespace fovea::schema
