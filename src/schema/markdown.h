// Inside of describe.cpp: the sections of a Markdown page.
#pragma once

#include <string>

#include "schema/description.h"

namespace fovea::schema {

/// `## title` and an empty line.
std::string markdown_heading(const std::string& title, int level);

/// A table of an object's keys, and sections of a deeper level for the objects inside.
std::string markdown_keys(const Description& description, int level);

/// The entries of a registry with their meanings; then tables of keys, each key once: those that
/// several entries have, under the names of these entries, and those that one entry alone has.
/// Where entries give a common key different defaults, the table of entries tells what is unusual.
std::string registry_markdown(const Choices& registry, int level);

}  // namespace fovea::schema
