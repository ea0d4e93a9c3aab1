#include "data/files/pictures/webp_file.h"

#include <fmt/format.h>
#include <webp/decode.h>

#include "base/error.h"
#include "data/files/bytes.h"

namespace fovea::data {
namespace {

constexpr std::size_t kRiffHeader = 8;
constexpr int kLossless = 2;  // WebPBitstreamFeatures::format

const std::uint8_t* webp_data(Bytes file) {
  return reinterpret_cast<const std::uint8_t*>(file.data());
}

}  // namespace

WebpHeader webp_header(Bytes file, std::string_view name) {
  const std::size_t promised =
      file.size() < kRiffHeader ? kRiffHeader : kRiffHeader + little32(file, 4);
  FOVEA_CHECK(promised <= file.size(), FileError,
              fmt::format("{}: is damaged: cut short: its header promises {} bytes, the file holds "
                          "{}; the copy or download may have failed",
                          name, promised, file.size()));
  WebPBitstreamFeatures features;
  FOVEA_CHECK(::WebPGetFeatures(webp_data(file), file.size(), &features) == VP8_STATUS_OK,
              FileError, fmt::format("{}: is damaged: its header cannot be read", name));
  FOVEA_CHECK(features.has_animation == 0, FileError,
              fmt::format("{}: is a WebP animation; expected one picture", name));
  return {features.height, features.width, features.has_alpha != 0 ? 4 : 3,
          features.format != kLossless};
}

Image decode_webp(Bytes file, std::string_view name) {
  const WebpHeader header = webp_header(file, name);
  Image image{header.height, header.width, header.channels, {}};
  image.pixels.resize(static_cast<std::size_t>(header.height * header.width * header.channels));
  const int stride = static_cast<int>(header.width * header.channels);
  const auto decode = header.channels == 4 ? ::WebPDecodeRGBAInto : ::WebPDecodeRGBInto;
  FOVEA_CHECK(
      decode(webp_data(file), file.size(), image.pixels.data(), image.pixels.size(), stride) !=
          nullptr,
      FileError,
      fmt::format("{}: is damaged: its pixels cannot be read; the copy or download may have "
                  "failed",
                  name));
  return image;
}

}  // namespace fovea::data
