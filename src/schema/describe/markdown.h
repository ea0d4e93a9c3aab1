// Inside of describe.cpp: the sections of a Markdown page.
#pragma once

#include <map>
#include <string>

#include "schema/describe/description.h"

namespace fovea::schema {

/// `## title` and an empty line.
std::string markdown_heading(const std::string& title, int level);

/// A table of an object's keys and of those of the objects inside, by their paths.
std::string markdown_keys(const Description& description);

/// Rows that stand on a page, without whose they are, and the registry that each is in.
using ToldRows = std::map<std::string, std::string>;

/// The entries of a registry with their meanings; then a table of their keys, each once with the
/// entries that have it: those of most entries first, those of one entry last. Where entries give a
/// common key different defaults, the table of entries tells what is unusual. Keys that another
/// registry has told word for word are a link to it.
std::string registry_markdown(const Choices& registry, int level, ToldRows& told);

}  // namespace fovea::schema
