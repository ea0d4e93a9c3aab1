// Files that an experiment names belong to what its results depend on, not by their names but by
// what is in them. A field says which files it names (Fields::names_files); a field of the root
// keeps their hashes (Fields::is_content), so that a stored configuration tells them too.
#pragma once

#include <string>
#include <vector>

#include "schema/describe/description.h"
#include "schema/json/value.h"

namespace fovea::schema {

/// Notes in the field that keeps them {"model.backbone.weights": "0123456789abcdef", ...}: the
/// settings that name files, each with a hash of their content, null where one is not there. Hashes
/// that are noted already stay: a run began with them, or its author asks for them. Throws
/// FileError for a file that cannot be read.
void note_contents(const Description& root, Value& resolved);

/// Paths of the settings of which a file is not there and no hash is noted.
std::vector<std::string> unknown_contents(const Description& root, const Value& resolved);

/// Throws FileError that names the setting and the file where the content is not what was noted. A
/// file that is not there is left to whoever reads it.
void check_contents(const Description& root, const Value& resolved);

}  // namespace fovea::schema
