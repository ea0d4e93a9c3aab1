// Documentation of options, generated from their descriptions.
#pragma once

#include <string>

#include "schema/description.h"

namespace fovea::schema {

/// A Markdown table of key, type, default and meaning; then one section for each object inside, and
/// for each registry its entries with their own tables. `title` is the heading and `level` its
/// depth. A registry that contains itself is described once.
std::string describe_markdown(const Description& description, const std::string& title,
                              int level = 2);

/// The same facts for a terminal: one line for each key in aligned columns, nested keys indented;
/// of registries only the names.
std::string describe_text(const Description& description, int indent = 2);

}  // namespace fovea::schema
