#include "metrics/masks/lesions.h"

#include <algorithm>
#include <cstddef>

namespace fovea::metrics {
namespace {

// Calls visit(pixel) for every pixel around one, and for itself.
template <class Visit>
void visit_neighbours(const Grid& grid, std::int64_t pixel, const Visit& visit) {
  const std::size_t axes = grid.size.size();
  std::int64_t around = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) around *= 3;
  for (std::int64_t way = 0; way < around; ++way) {
    std::int64_t rest = way, left = pixel, stride = 1, to = 0;
    bool within = true;
    for (std::size_t axis = axes; axis-- > 0;) {
      const std::int64_t size = grid.size[axis], x = left % size + rest % 3 - 1;
      within = within && x >= 0 && x < size;
      to += x * stride;
      stride *= size;
      left /= size;
      rest /= 3;
    }
    if (within) visit(to);
  }
}

// How many lesions have no pixel in the other mask.
std::int64_t lesions_apart(const Lesions& lesions, std::span<const std::uint8_t> other) {
  std::vector<bool> met(static_cast<std::size_t>(lesions.count) + 1, false);
  met[0] = true;  // no lesion
  for (std::size_t i = 0; i < other.size(); ++i)
    if (other[i] != 0) met[static_cast<std::size_t>(lesions.of_pixel[i])] = true;
  return std::count(met.begin(), met.end(), false);
}

}  // namespace

Lesions find_lesions(std::span<const std::uint8_t> mask, const Grid& grid) {
  check_grid(mask.size(), grid);
  Lesions lesions;
  lesions.of_pixel.resize(mask.size(), 0);
  std::vector<std::int64_t> awaited;
  for (std::size_t first = 0; first < mask.size(); ++first) {
    if (mask[first] == 0 || lesions.of_pixel[first] != 0) continue;
    ++lesions.count;
    lesions.of_pixel[first] = lesions.count;
    awaited.push_back(static_cast<std::int64_t>(first));
    while (!awaited.empty()) {
      const std::int64_t pixel = awaited.back();
      awaited.pop_back();
      visit_neighbours(grid, pixel, [&](std::int64_t next) {
        const auto place = static_cast<std::size_t>(next);
        if (mask[place] == 0 || lesions.of_pixel[place] != 0) return;
        lesions.of_pixel[place] = lesions.count;
        awaited.push_back(next);
      });
    }
  }
  return lesions;
}

double lesion_f1(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted,
                 const Grid& grid) {
  const Lesions there = find_lesions(truth, grid), found = find_lesions(predicted, grid);
  const std::int64_t missed = lesions_apart(there, predicted),
                     false_ones = lesions_apart(found, truth);
  const auto twice_right = static_cast<double>(2 * (there.count - missed));
  // 0 / 0 is NaN.
  return twice_right / (twice_right + static_cast<double>(missed + false_ones));
}

}  // namespace fovea::metrics
