#include "visualise/layouts/disagreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "metrics/masks/components.h"

namespace fovea::visualise {
namespace {

constexpr std::int64_t kMargin = 4, kFrame = 2;  // pixels

// The box of every component, from 1 on.
std::vector<PixelBox> boxes_of(const metrics::Components& components, std::int64_t width) {
  std::vector<PixelBox> boxes(static_cast<std::size_t>(components.count) + 1);
  for (std::size_t i = 0; i < components.of_pixel.size(); ++i) {
    const auto c = static_cast<std::size_t>(components.of_pixel[i]);
    if (c == 0) continue;
    const std::int64_t row = static_cast<std::int64_t>(i) / width;
    const std::int64_t column = static_cast<std::int64_t>(i) % width;
    PixelBox& box = boxes[c];
    if (box.height == 0) box = {row, column, 1, 1};
    const std::int64_t right = std::max(box.column + box.width, column + 1);
    box.column = std::min(box.column, column);
    box.width = right - box.column;
    box.height = row + 1 - box.row;  // rows only grow
  }
  return boxes;
}

}  // namespace

std::vector<PixelBox> disagreement_boxes(
    const std::vector<std::vector<std::int64_t>>& segmentations, std::int64_t height,
    std::int64_t width, std::int64_t count) {
  const auto pixels = static_cast<std::size_t>(height * width);
  std::vector<std::uint8_t> differ(pixels, 0);
  for (const std::vector<std::int64_t>& one : segmentations)
    FOVEA_CHECK(
        one.size() == pixels, ShapeError,
        fmt::format("disagreement: {} classes for {} x {} pixels", one.size(), height, width));
  for (std::size_t i = 0; i < pixels; ++i) {
    const auto unknown = [i](const auto& one) { return one[i] < 0; };
    if (std::any_of(segmentations.begin(), segmentations.end(), unknown)) continue;
    for (const std::vector<std::int64_t>& one : segmentations) {
      if (one[i] != segmentations.front()[i]) differ[i] = 1;
    }
  }
  const metrics::Components components =
      metrics::connected_components(differ, {{height, width}, {1, 1}});
  const std::vector<std::int64_t> sizes = components.sizes();
  std::vector<std::size_t> order(static_cast<std::size_t>(components.count));
  std::iota(order.begin(), order.end(), std::size_t{1});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  const std::vector<PixelBox> all = boxes_of(components, width);
  std::vector<PixelBox> chosen;
  for (const std::size_t c : order) {
    if (std::ssize(chosen) == count) break;
    chosen.push_back(all[c]);
  }
  return chosen;
}

LegendEntry box_legend(std::int64_t count) {
  return {kDifference, count == 1 ? "the largest region that is not labelled alike"
                                  : "the largest regions that are not labelled alike"};
}

void draw_box(Canvas& canvas, const PixelBox& box, std::int64_t factor) {
  const std::int64_t margin = std::max<std::int64_t>(1, kMargin / factor);
  const std::int64_t left = std::max<std::int64_t>(0, box.column - margin);
  const std::int64_t top = std::max<std::int64_t>(0, box.row - margin);
  const std::int64_t right = std::min(canvas.width, box.column + box.width + margin);
  const std::int64_t bottom = std::min(canvas.height, box.row + box.height + margin);
  canvas.frame(left, top, right - left, bottom - top, kDifference,
               std::max<std::int64_t>(1, kFrame / factor));
}

}  // namespace fovea::visualise
