#include "metrics/masks/surface.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "metrics/masks/cut_masks.h"

namespace fovea::metrics {
namespace {

void add_distances(const std::vector<std::uint8_t>& from, const std::vector<std::uint8_t>& to,
                   const Grid& grid, std::vector<double>& distances) {
  const std::vector<double> squared = squared_distances(to, grid);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 0) distances.push_back(std::sqrt(squared[i]));
}

}  // namespace

std::vector<std::uint8_t> border_of(std::span<const std::uint8_t> mask, const Grid& grid) {
  check_grid(mask.size(), grid);
  std::vector<std::uint8_t> border(mask.size(), 0);
  for (std::int64_t i = 0; i < std::ssize(mask); ++i) {
    const auto inside = [&](std::int64_t j) { return mask[static_cast<std::size_t>(j)] != 0; };
    if (!inside(i)) continue;
    bool within = true;
    std::int64_t stride = 1;
    for (std::size_t axis = grid.size.size(); within && axis-- > 0;) {
      const std::int64_t at = i / stride % grid.size[axis];
      within = at > 0 && at + 1 < grid.size[axis] && inside(i - stride) && inside(i + stride);
      stride *= grid.size[axis];
    }
    border[static_cast<std::size_t>(i)] = within ? 0 : 1;
  }
  return border;
}

std::vector<double> surface_distances(std::span<const std::uint8_t> a,
                                      std::span<const std::uint8_t> b, const Grid& grid) {
  check_grid(a.size(), grid);
  check_grid(b.size(), grid);
  std::vector<double> distances;
  if (is_empty(a) || is_empty(b)) return distances;
  const CutMasks cut = cut_masks(a, b, grid);
  const std::vector<std::uint8_t> of_a = border_of(cut.a, cut.grid);
  const std::vector<std::uint8_t> of_b = border_of(cut.b, cut.grid);
  add_distances(of_a, of_b, cut.grid, distances);
  add_distances(of_b, of_a, cut.grid, distances);
  return distances;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const auto lower = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), lower, values.end());
  if (lower + 1 == values.end()) return *lower;
  const double upper = *std::min_element(lower + 1, values.end());
  return *lower + (rank - static_cast<double>(below)) * (upper - *lower);
}

double hd95(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, const Grid& grid) {
  return quantile(surface_distances(a, b, grid), kHd95Share);
}

double hausdorff(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                 const Grid& grid) {
  return quantile(surface_distances(a, b, grid), 1);
}

}  // namespace fovea::metrics
