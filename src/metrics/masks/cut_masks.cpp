#include "metrics/masks/cut_masks.h"

#include <algorithm>
#include <cstddef>

namespace fovea::metrics {

CutMasks cut_masks(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                   const Grid& grid) {
  const std::size_t axes = grid.size.size();
  std::vector<std::int64_t> low(grid.size), high(axes, -1), at(axes, 0);
  const auto next = [&](const std::vector<std::int64_t>& size) {
    for (std::size_t axis = axes; axis-- > 0;) {
      if (++at[axis] < size[axis]) return;
      at[axis] = 0;
    }
  };
  for (std::size_t i = 0; i < a.size(); ++i, next(grid.size)) {
    if (a[i] == 0 && b[i] == 0) continue;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      low[axis] = std::min(low[axis], at[axis]);
      high[axis] = std::max(high[axis], at[axis]);
    }
  }
  CutMasks cut{{{}, grid.spacing}, {}, {}};
  for (std::size_t axis = 0; axis < axes; ++axis)
    cut.grid.size.push_back(std::max<std::int64_t>(0, high[axis] - low[axis] + 1));
  at.assign(axes, 0);
  for (std::int64_t i = 0; i < cut.grid.pixels(); ++i, next(cut.grid.size)) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < axes; ++axis)
      from = from * grid.size[axis] + low[axis] + at[axis];
    cut.a.push_back(a[static_cast<std::size_t>(from)]);
    cut.b.push_back(b[static_cast<std::size_t>(from)]);
  }
  return cut;
}

bool is_empty(std::span<const std::uint8_t> mask) {
  return std::all_of(mask.begin(), mask.end(), [](std::uint8_t inside) { return inside == 0; });
}

}  // namespace fovea::metrics
