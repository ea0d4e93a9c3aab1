#include "data/images/picture_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "data/files/pictures/exif.h"
#include "data/files/pictures/image_check.h"

namespace fovea::data {
namespace {

constexpr std::size_t kMostLookedAt = 4096;
constexpr std::size_t kMostDecoded = 4;
constexpr std::uint16_t kTwelveBits = 4095;

// The orientation stands near the beginning of a file.
std::vector<std::byte> first_bytes(const std::filesystem::path& file) {
  std::vector<std::byte> bytes(std::size_t{1} << 14);
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return bytes;
}

bool is_deep_png(std::span<const std::byte> bytes) {
  constexpr std::size_t kDepth = 24;  // in the header chunk
  return image_format(bytes) == ImageFormat::kPng && bytes.size() > kDepth &&
         std::to_integer<int>(bytes[kDepth]) == 16;
}

// Of decoded pictures; nothing where none can be read.
std::optional<std::uint16_t> largest_value(const std::vector<std::filesystem::path>& files) {
  std::optional<std::uint16_t> largest;
  for (const std::filesystem::path& file : files) {
    try {
      const Image picture = read_image(file);
      const auto most = std::max_element(picture.deep.begin(), picture.deep.end());
      if (most != picture.deep.end()) largest = std::max(largest.value_or(0), *most);
    } catch (const FileError&) {  // reported when the sample itself is used
    }
  }
  return largest;
}

std::string looked_at(std::size_t count, std::size_t files) {
  return count == files ? fmt::format("{}", files)
                        : fmt::format("{} looked at of {}", count, files);
}

}  // namespace

void note_pictures(std::span<const std::filesystem::path> files, const PictureReading& how,
                   std::vector<std::string>& notes) {
  const std::size_t count = std::min(files.size(), kMostLookedAt);
  std::size_t turned = 0;
  std::string first;
  std::vector<std::filesystem::path> deep;
  for (std::size_t k = 0; k < count; ++k) {
    const std::filesystem::path& file = files[k * files.size() / count];
    const std::vector<std::byte> bytes = first_bytes(file);
    if (is_deep_png(bytes)) deep.push_back(file);
    if (how.exif == Exif::kApply || image_format(bytes) != ImageFormat::kJpeg) continue;
    const int orientation = jpeg_orientation(bytes);
    if (orientation == 1) continue;
    if (turned++ == 0) first = fmt::format("{} ({})", file.string(), orientation);
  }
  if (turned > 0) {
    notes.push_back(fmt::format(
        "{}: {} of {} pictures have an EXIF orientation other than 1, e.g. {}; they are "
        "read as they are stored; dataset.exif=true turns them upright",
        how.reader, turned, looked_at(count, files.size()), first));
  }
  if (deep.empty() || how.stretched) return;
  std::vector<std::filesystem::path> some;
  for (std::size_t k = 0; k < std::min(deep.size(), kMostDecoded); ++k)
    some.push_back(deep[k * deep.size() / std::min(deep.size(), kMostDecoded)]);
  const auto largest = largest_value(some);
  if (!largest || *largest > kTwelveBits) return;
  notes.push_back(fmt::format(
      "{}: {} of {} pictures have 16 bits, and {} of them that were decoded hold no value "
      "above {}, as scanners of 12 bits write them: of 65535 they are nearly black; {}",
      how.reader, deep.size(), looked_at(count, files.size()), some.size(), *largest,
      how.range_remedy));
}

std::string exif_hint(const std::filesystem::path& file, Exif how, const Image& picture,
                      std::int64_t height, std::int64_t width) {
  if (picture.height != width || picture.width != height) return "";
  const int orientation = jpeg_orientation(first_bytes(file));
  if (orientation < 5) return "";  // those from 5 on exchange height and width
  return how == Exif::kIgnore
             ? fmt::format("; its EXIF orientation is {}: dataset.exif=true turns it to {} x {}",
                           orientation, height, width)
             : fmt::format(
                   "; its EXIF orientation is {}, and dataset.exif has turned it: false "
                   "leaves it at {} x {}",
                   orientation, height, width);
}

}  // namespace fovea::data
