// Names that become names of files and tensors: no two may be equal.
#pragma once

#include <string>
#include <vector>

namespace fovea {

/// Only letters, digits, dots and dashes, others as "_": for names of files and tensors.
std::string slug(std::string text);

/// Files by their names without ending; where two would have one slug, with the ending, then with
/// as many of the folders above as tell them apart.
std::vector<std::string> file_names(const std::vector<std::string>& paths);

/// A later one whose slug is taken gets " (2)", " (3)", ...
std::vector<std::string> distinct(std::vector<std::string> names);

/// The stem of every file name ("scans/a.png" -> "a"). Names that share one get their number: of
/// "x/a.png", "b.png", "y/a.png" become "a-0", "b", "a-2".
std::vector<std::string> distinct_stems(const std::vector<std::string>& paths);

}  // namespace fovea
