// Names of files made for samples.
#pragma once

#include <string>
#include <vector>

namespace fovea::apps {

/// The stem of every file name ("scans/a.png" -> "a"). Names that share one get their number, so
/// that nothing overwrites anything: of "x/a.png", "b.png", "y/a.png" become "a-0", "b", "a-2".
std::vector<std::string> distinct_stems(const std::vector<std::string>& names);

}  // namespace fovea::apps
