// Documentation of options, generated from their descriptions.
#pragma once

#include <string>
#include <vector>

#include "schema/describe/description.h"

namespace fovea::schema {

/// All registries that a description reaches, each once. A registry inside another one's options
/// follows it.
std::vector<Choices> registries(const Description& description);

/// A Markdown table of key, type, default and meaning, with dotted paths for the keys of inner
/// objects; then a section for each registry (registry_markdown). `title` is the heading and
/// `level` its depth.
std::string describe_markdown(const Description& description, const std::string& title,
                              int level = 2);

/// The same facts for a terminal: one line for each key in aligned columns, nested keys indented;
/// registries by their names only.
std::string describe_text(const Description& description, int indent = 2);

}  // namespace fovea::schema
