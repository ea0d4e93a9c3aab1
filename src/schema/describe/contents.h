// Results depend on the content of files that an experiment names, not on their names. A field says
// which files it names (Fields::names_files); a field of the root holds their hashes
// (Fields::is_content), so that stored configurations have them too.
#pragma once

#include <string>
#include <vector>

#include "schema/describe/description.h"
#include "schema/json/value.h"

namespace fovea::schema {

/// Fills the field of hashes: {"model.backbone.weights": "0123456789abcdef", ...}, every setting
/// that names files with a hash of their content, null where a file is missing. Hashes that are
/// there already stay: a run began with them, or its author asks for them. Throws FileError for a
/// file that cannot be read.
void note_contents(const Description& root, Value& resolved);

/// Paths of settings with a missing file and without a hash.
std::vector<std::string> unknown_contents(const Description& root, const Value& resolved);

/// Throws FileError that names the setting and the file where the content differs from its hash.
/// Missing files are not reported here, but by whoever reads them.
void check_contents(const Description& root, const Value& resolved);

}  // namespace fovea::schema
