#include "base/suggest.h"

#include <algorithm>
#include <cstddef>

namespace fovea {

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t rows = a.size() + 1;
  const std::size_t columns = b.size() + 1;
  std::vector<int> table(rows * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> int& { return table[i * columns + j]; };
  for (std::size_t i = 0; i < rows; ++i) at(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j < columns; ++j) at(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i < rows; ++i) {
    for (std::size_t j = 1; j < columns; ++j) {
      const int substitution = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(rows - 1, columns - 1);
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  // The distance table of two very long names would fill the memory.
  constexpr std::size_t kLongest = 1000;
  if (name.size() > kLongest) return "";
  const std::size_t limit = std::clamp<std::size_t>(name.size() / 3, 1, 3);
  int best = static_cast<int>(limit) + 1;
  std::string found;
  for (const std::string& candidate : known) {
    // The distance is at least the difference in length.
    if (candidate.size() > name.size() + limit || name.size() > candidate.size() + limit) continue;
    const int distance = edit_distance(name, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string found = nearest(name, known);
  return found.empty() ? "" : "; did you mean \"" + found + "\"?";
}

}  // namespace fovea
