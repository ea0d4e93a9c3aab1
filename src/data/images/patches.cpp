#include "data/images/patches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace fovea::data {
namespace {

constexpr int kNoClass = 0;

// 1 + class of a mask's value.
int class_of(const PatchMask& mask, int value) {
  if (mask.labels) return value;
  return value >= 128 ? 2 : 1;
}

// The k-th pixel, row by row, for which `counts` is true.
template <class Counts>
std::int64_t nth_pixel(const PatchMask& mask, std::int64_t k, const Counts& counts) {
  return visit_values(mask.pixels, [&](const auto& values) {
    std::int64_t at = 0;
    for (;; ++at) {
      if (counts(class_of(mask, values[static_cast<std::size_t>(at)])) && k-- == 0) return at;
    }
  });
}

// The pixel that a patch lies around; none: anywhere.
std::optional<std::int64_t> draw_middle(const PatchMask& mask, bool foreground,
                                        const RandomStream& stream) {
  std::map<int, std::int64_t> pixels;  // of each class
  visit_values(mask.pixels, [&](const auto& values) {
    for (std::size_t i = 0; i < values.size();) {  // runs of one value
      const std::size_t first = i;
      while (i < values.size() && values[i] == values[first]) ++i;
      pixels[class_of(mask, values[first])] += static_cast<std::int64_t>(i - first);
    }
  });
  std::vector<int> present;
  std::int64_t labelled = 0;
  for (const auto& [number, count] : pixels) {
    if (number == kNoClass) continue;
    labelled += count;
    if (number > 1 || (mask.labels && !mask.background)) present.push_back(number);
  }
  if (foreground && !present.empty()) {
    const RandomStream choice = stream.fork("foreground");
    const int chosen = present[static_cast<std::size_t>(choice.below(std::ssize(present), 0))];
    return nth_pixel(mask, choice.below(pixels[chosen], 1), [&](int c) { return c == chosen; });
  }
  if (labelled == 0 || !pixels.contains(kNoClass)) return std::nullopt;
  return nth_pixel(mask, stream.fork("labelled").below(labelled, 0),
                   [](int c) { return c != kNoClass; });
}

// Where a part of `size` may begin along an axis.
struct Starts {
  std::int64_t low, high;
};

Starts starts_of(std::int64_t axis, std::int64_t size) {
  if (size >= axis) return {-((size - axis) / 2), -((size - axis) / 2)};
  return {0, axis - size};
}

}  // namespace

Box draw_patch(const PatchMask& mask, std::int64_t height, std::int64_t width, bool foreground,
               const RandomStream& stream) {
  const Starts rows = starts_of(mask.pixels.height, height);
  const Starts columns = starts_of(mask.pixels.width, width);
  if (const auto middle = draw_middle(mask, foreground, stream)) {
    const std::int64_t y = *middle / mask.pixels.width, x = *middle % mask.pixels.width;
    return {std::clamp(y - height / 2, rows.low, rows.high),
            std::clamp(x - width / 2, columns.low, columns.high), height, width};
  }
  return {rows.low + stream.below(rows.high - rows.low + 1, 0),
          columns.low + stream.below(columns.high - columns.low + 1, 1), height, width};
}

Box inside(const Box& box, std::int64_t height, std::int64_t width) {
  const std::int64_t top = std::max<std::int64_t>(0, box.top);
  const std::int64_t left = std::max<std::int64_t>(0, box.left);
  return {top, left, std::min(height, box.top + box.height) - top,
          std::min(width, box.left + box.width) - left};
}

}  // namespace fovea::data
