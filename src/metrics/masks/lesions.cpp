#include "metrics/masks/lesions.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "metrics/masks/components.h"

namespace fovea::metrics {
namespace {

// How many lesions have no pixel in the other mask.
std::int64_t lesions_apart(const Components& lesions, std::span<const std::uint8_t> other) {
  std::vector<bool> met(static_cast<std::size_t>(lesions.count) + 1, false);
  met[0] = true;  // no lesion
  for (std::size_t i = 0; i < other.size(); ++i)
    if (other[i] != 0) met[static_cast<std::size_t>(lesions.of_pixel[i])] = true;
  return std::count(met.begin(), met.end(), false);
}

}  // namespace

double lesion_f1(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted,
                 const Grid& grid) {
  const Components there = connected_components(truth, grid),
                   found = connected_components(predicted, grid);
  const std::int64_t missed = lesions_apart(there, predicted),
                     false_ones = lesions_apart(found, truth);
  const auto twice_right = static_cast<double>(2 * (there.count - missed));
  // 0 / 0 is NaN.
  return twice_right / (twice_right + static_cast<double>(missed + false_ones));
}

}  // namespace fovea::metrics
