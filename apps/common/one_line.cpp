#include "common/one_line.h"

#include <fmt/format.h>

#include "base/shown.h"

namespace fovea::apps {

std::string one_line(const std::string& text) {
  constexpr std::size_t kLongest = 12000, kEnd = 500;
  std::string line = text;
  for (char& c : line) {
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.size() <= kLongest) return shown(line, kLongest);
  const std::string end = shown(line.substr(line.size() - kEnd), kEnd);
  return shown(line, kLongest - kEnd) + " ... " + end;
}

}  // namespace fovea::apps
