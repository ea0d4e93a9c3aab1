// Used by describe.cpp only: the sections of a Markdown page.
#pragma once

#include <map>
#include <string>

#include "schema/describe/description.h"

namespace fovea::schema {

/// `## title` and an empty line.
std::string markdown_heading(const std::string& title, int level);

/// A table of the keys of an object and of its inner objects, by their paths.
std::string markdown_keys(const Description& description);

/// The rows of a page, without their owners, and the registry of each.
using ToldRows = std::map<std::string, std::string>;

/// The entries of a registry with their meanings; then a table of their keys, each once with the
/// entries that have it: keys that most entries share first, keys of a single entry last. Where
/// entries have different defaults for a shared key, the table of entries shows the unusual ones.
/// Keys that another registry describes word for word become a link to it.
std::string registry_markdown(const Choices& registry, int level, ToldRows& told);

}  // namespace fovea::schema
