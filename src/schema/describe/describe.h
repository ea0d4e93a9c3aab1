// Documentation of options, generated from their descriptions.
#pragma once

#include <string>
#include <vector>

#include "schema/describe/description.h"

namespace fovea::schema {

/// Every registry that a description leads to, each once; one inside another's options follows it.
std::vector<Choices> registries(const Description& description);

/// A Markdown table of key, type, default and meaning, where the keys of objects inside have dotted
/// paths; then a section for each registry (registry_markdown). `title` is the heading and `level`
/// its depth.
std::string describe_markdown(const Description& description, const std::string& title,
                              int level = 2);

/// The same facts for a terminal: one line for each key in aligned columns, nested keys indented;
/// of registries only the names.
std::string describe_text(const Description& description, int indent = 2);

}  // namespace fovea::schema
