#include "base/name_pattern.h"

#include <cstddef>

namespace fovea {

bool matches_pattern(const std::string& name, const std::string& pattern) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string::npos;  // last '*' seen; its match ends at `taken`
  std::size_t taken = 0;
  while (t < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == name[t]) {
      ++p;
      ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace fovea
