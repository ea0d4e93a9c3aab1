// Names of runs and inputs, of which files and tensors get theirs: no two may be equal.
#pragma once

#include <string>
#include <vector>

namespace fovea::apps {

/// Only letters, digits, dots and dashes, others as "_": for names of files and tensors.
std::string slug(std::string text);

/// Files by their names without ending; where two would have one slug, with the ending, then with
/// as many of the folders above as tell them apart.
std::vector<std::string> file_names(const std::vector<std::string>& paths);

/// A later one whose slug is taken gets " (2)", " (3)", ...
std::vector<std::string> distinct(std::vector<std::string> names);

}  // namespace fovea::apps
