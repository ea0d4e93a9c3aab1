// Messages of libraries as our programs print them.
#pragma once

#include <string>

namespace fovea::apps {

/// The text with its line breaks as spaces.
inline std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace fovea::apps
