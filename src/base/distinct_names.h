// Names that become names of files and tensors: no two may be equal.
#pragma once

#include <string>
#include <vector>

namespace fovea {

/// Only letters, digits, dots and dashes, others as "_": for names of files and tensors.
std::string slug(std::string text);

/// One name for each file: without ending; where two files would have the same slug, with the
/// ending; where that is not enough, with as many parent folders as tell them apart.
std::vector<std::string> file_names(const std::vector<std::string>& paths);

/// A later name whose slug is taken gets " (2)", " (3)", ...
std::vector<std::string> distinct(std::vector<std::string> names);

/// The stem of every file name ("scans/a.png" -> "a"). Files that share a stem get their number: of
/// "x/a.png", "b.png", "y/a.png" become "a-0", "b", "a-2".
std::vector<std::string> distinct_stems(const std::vector<std::string>& paths);

}  // namespace fovea
