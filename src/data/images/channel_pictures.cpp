#include "data/images/channel_pictures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/given/channel_files.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

std::uint16_t deep_value(const Image& image, std::size_t i) {
  constexpr int kToDeep = 257;  // 255 becomes 65535
  return image.deep.empty() ? static_cast<std::uint16_t>(image.pixels[i] * kToDeep) : image.deep[i];
}

Image interleaved(const std::vector<Image>& channels) {
  Image all{channels[0].height, channels[0].width, std::ssize(channels), {}};
  const auto pixels = static_cast<std::size_t>(all.height * all.width);
  const bool deep = std::any_of(channels.begin(), channels.end(),
                                [](const Image& one) { return !one.deep.empty(); });
  for (std::size_t i = 0; i < pixels; ++i) {
    for (const Image& one : channels) {
      if (deep)
        all.deep.push_back(deep_value(one, i));
      else
        all.pixels.push_back(one.pixels[i]);
    }
  }
  return all;
}

}  // namespace

std::vector<fs::path> channel_files(const fs::path& file, std::size_t channels) {
  const auto [name, channel] = numbered_name(file.stem().string());
  if (!channel) return {file};
  std::vector<fs::path> files;
  for (std::size_t c = 0; c < channels; ++c)
    files.push_back(file.parent_path() /
                    fmt::format("{}_{:04}{}", name, c, file.extension().string()));
  return files;
}

Image read_channels(const fs::path& file, const std::vector<std::string>& names, Exif exif) {
  const std::vector<fs::path> files = channel_files(file, names.size());
  if (files.size() < names.size()) return interleaved(read_image_pages(file, std::ssize(names)));
  std::vector<Image> channels;
  for (std::size_t c = 0; c < files.size(); ++c) {
    std::error_code code;
    FOVEA_CHECK(fs::exists(files[c], code), FileError,
                fmt::format("{}: not found; expected channel {} ({}) of {}", files[c].string(), c,
                            names[c], file.string()));
    channels.push_back(read_image(files[c], 1, exif));
    FOVEA_CHECK(
        channels[c].height == channels[0].height && channels[c].width == channels[0].width,
        FileError,
        fmt::format("{}: is {} x {}, channel 0 of the picture is {} x {}", files[c].string(),
                    channels[c].height, channels[c].width, channels[0].height, channels[0].width));
  }
  return interleaved(channels);
}

}  // namespace fovea::data
