// Messages of libraries as our programs print them.
#pragma once

#include <string>

namespace fovea::apps {

/// The text in one line: line breaks as spaces, other control characters as \\x1b, and of what is
/// longer than a screen the beginning and the end.
std::string one_line(const std::string& text);

}  // namespace fovea::apps
