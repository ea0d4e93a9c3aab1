// What programs wrote, line by line.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"

namespace fovea::test {

inline std::vector<std::string> lines_of(const io::fs::path& file) {
  std::istringstream stream(io::read_text(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace fovea::test
