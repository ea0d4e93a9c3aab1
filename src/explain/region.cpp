#include "explain/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "base/error.h"
#include "data/files/pictures/image_file.h"

namespace fovea::explain {
namespace {

using Place = std::array<std::int64_t, 3>;  // slice, row, column

// The numbers of "30,40,60,80"; nothing for other texts.
std::optional<std::vector<std::int64_t>> numbers_of(const std::string& text) {
  std::vector<std::int64_t> numbers;
  const char* end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    if (stop == end) return numbers;
    if (*stop != ',') return std::nullopt;
    at = stop;
  }
}

std::vector<std::uint8_t> box_of(const std::string& text, const std::vector<std::int64_t>& numbers,
                                 const GridSize& size) {
  const bool volume = size.d > 1;
  const std::size_t axes = volume ? 3 : 2;
  const char* expected = volume ? "SLICE,ROW,COLUMN, or the first and the last of a box"
                                : "ROW,COLUMN, or TOP,LEFT,BOTTOM,RIGHT of a box";
  FOVEA_CHECK(numbers.size() == axes || numbers.size() == 2 * axes, ConfigError,
              fmt::format("--region {}: {} numbers; expected {}", text, numbers.size(), expected));
  Place first{}, last{};
  const Place sides{size.d, size.h, size.w};
  for (std::size_t a = 0; a < axes; ++a) {
    const std::size_t axis = a + 3 - axes;
    first[axis] = numbers[a];
    last[axis] = numbers[numbers.size() - axes + a];
    FOVEA_CHECK(first[axis] >= 0 && first[axis] <= last[axis] && last[axis] < sides[axis],
                ConfigError,
                fmt::format("--region {}: lies outside the {} pixels of the image, or ends before "
                            "it begins; expected {}, from 0",
                            text, text_of(size), expected));
  }
  std::vector<std::uint8_t> region(as_index(size.count()), 0);
  for (std::int64_t z = first[0]; z <= last[0]; ++z) {
    for (std::int64_t y = first[1]; y <= last[1]; ++y) {
      const auto row = region.begin() + (z * size.h + y) * size.w;
      std::fill(row + first[2], row + last[2] + 1, std::uint8_t{1});
    }
  }
  return region;
}

std::vector<std::uint8_t> picture_of(const std::string& file, const GridSize& size) {
  FOVEA_CHECK(size.d == 1, ConfigError,
              fmt::format("--region {}: a picture has no slices; expected SLICE,ROW,COLUMN of a "
                          "voxel, or the first and the last of a box",
                          file));
  const data::Image mask = data::read_mask_file(file, data::MaskPixels::kStored).image;
  FOVEA_CHECK(mask.height == size.h && mask.width == size.w, ConfigError,
              fmt::format("--region {}: is {} x {}, the network sees {}; expected a picture of "
                          "that size",
                          file, mask.height, mask.width, text_of(size)));
  std::vector<std::uint8_t> region;
  data::visit_values(mask, [&](const auto& values) {
    for (const auto value : values) region.push_back(value > 0 ? 1 : 0);
  });
  FOVEA_CHECK(std::any_of(region.begin(), region.end(), [](auto one) { return one != 0; }),
              ConfigError,
              fmt::format("--region {}: is all black; expected at least one other pixel", file));
  return region;
}

}  // namespace

Tensor region_of(const std::string& region, const GridSize& size, const Device& host) {
  const auto numbers = numbers_of(region);
  const std::vector<std::uint8_t> pixels =
      numbers ? box_of(region, *numbers, size) : picture_of(region, size);
  const Shape shape = size.d > 1 ? Shape{1, size.d, size.h, size.w} : Shape{1, size.h, size.w};
  return Tensor::from(pixels, shape, host);
}

}  // namespace fovea::explain
