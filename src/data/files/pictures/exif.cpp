#include "data/files/pictures/exif.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "data/files/bytes.h"

namespace fovea::data {
namespace {

// `count` bytes at `i` as a number; 0 outside, which no field that is looked for has.
std::uint32_t number(Bytes bytes, std::size_t i, std::size_t count, bool little) {
  if (i > bytes.size() || bytes.size() - i < count) return 0;
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t at = little ? i + count - 1 - k : i + k;
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[at]);
  }
  return value;
}

// The first directory of the TIFF structure that EXIF is: a count, and entries of 12 bytes.
int tiff_orientation(Bytes tiff) {
  const bool little = starts_with(tiff, "II");
  if (!little && !starts_with(tiff, "MM")) return 1;
  if (number(tiff, 2, 2, little) != 42) return 1;
  const std::size_t directory = number(tiff, 4, 4, little);
  const std::uint32_t entries = number(tiff, directory, 2, little);
  for (std::uint32_t k = 0; k < entries; ++k) {
    const std::size_t entry = directory + 2 + std::size_t{12} * k;
    if (entry >= tiff.size()) return 1;
    if (number(tiff, entry, 2, little) != 0x0112) continue;
    constexpr std::uint32_t kShort = 3;
    const std::uint32_t value = number(tiff, entry + 8, 2, little);
    const bool valid = number(tiff, entry + 2, 2, little) == kShort && value >= 1 && value <= 8;
    return valid ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int jpeg_orientation(Bytes file) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  std::size_t i = 2;
  while (i + 4 <= file.size() && std::to_integer<int>(file[i]) == 0xFF) {
    const int marker = std::to_integer<int>(file[i + 1]);
    constexpr int kFill = 0xFF, kScan = 0xDA, kApp1 = 0xE1;
    if (marker == kFill) {
      ++i;
      continue;
    }
    const std::size_t length = number(file, i + 2, 2, false);
    if (marker == kScan || length < 2) return 1;
    const Bytes payload = file.subspan(i + 4, std::min(length - 2, file.size() - i - 4));
    if (marker == kApp1 && starts_with(payload, kExif)) {
      return tiff_orientation(payload.subspan(kExif.size()));
    }
    i += 2 + length;
  }
  return 1;
}

Image oriented(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const bool across = orientation >= 5;
  const bool bottom_up = orientation == 3 || orientation == 4 || orientation >= 7;
  const bool right_left =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  Image turned{
      across ? image.width : image.height, across ? image.height : image.width, image.channels, {}};
  visit_values(image, [&]<class T>(const std::vector<T>& from) {
    std::vector<T>& to = turned.values<T>();
    to.reserve(from.size());
    for (std::int64_t i = 0; i < turned.height; ++i) {
      const std::int64_t row = bottom_up ? turned.height - 1 - i : i;
      for (std::int64_t j = 0; j < turned.width; ++j) {
        const std::int64_t column = right_left ? turned.width - 1 - j : j;
        const std::int64_t place = across ? column * image.width + row : row * image.width + column;
        const auto first = from.begin() + place * image.channels;
        to.insert(to.end(), first, first + image.channels);
      }
    }
  });
  return turned;
}

}  // namespace fovea::data
