#include "metrics/masks/components.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>

#include "base/error.h"

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

}  // namespace

std::vector<std::int64_t> Components::sizes() const {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count) + 1, 0);
  for (const std::int32_t component : of_pixel) ++sizes[static_cast<std::size_t>(component)];
  sizes[0] = 0;
  return sizes;
}

Components connected_components(std::span<const std::uint8_t> mask, const Grid& grid) {
  check_grid(mask.size(), grid);
  FOVEA_CHECK(mask.size() <= std::numeric_limits<std::int32_t>::max(), ShapeError,
              fmt::format("connected components: a mask of {} pixels; expected at most {}",
                          mask.size(), std::numeric_limits<std::int32_t>::max()));
  Components components;
  components.of_pixel.resize(mask.size(), 0);
  std::vector<std::int64_t> awaited;
  for (std::size_t first = 0; first < mask.size(); ++first) {
    if (mask[first] == 0 || components.of_pixel[first] != 0) continue;
    ++components.count;
    components.of_pixel[first] = components.count;
    awaited.push_back(static_cast<std::int64_t>(first));
    while (!awaited.empty()) {
      const std::int64_t pixel = awaited.back();
      awaited.pop_back();
      visit_neighbours(grid, pixel, [&](std::int64_t next) {
        const auto place = static_cast<std::size_t>(next);
        if (mask[place] == 0 || components.of_pixel[place] != 0) return;
        components.of_pixel[place] = components.count;
        awaited.push_back(next);
      });
    }
  }
  return components;
}

}  // namespace fovea::metrics
