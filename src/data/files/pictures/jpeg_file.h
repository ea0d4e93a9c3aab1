// JPEG files by libjpeg-turbo, which gives the pixels that Pillow gives. It is optional: in a
// program that is built without it stb_image decodes them, up to 4 of 255 away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// "libjpeg-turbo 2.1.5", or "" where the program is built without.
std::string libjpeg_version();

/// A file whose header has been read.
class JpegFile {
 public:
  virtual ~JpegFile() = default;
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  /// 1 or 3. Cyan, magenta, yellow and black become red, green and blue as in Pillow: values are
  /// Adobe's, which are inverted.
  std::int64_t channels() const { return channels_; }
  /// May be called once. Fancy upsampling and the exact cosine transform (islow), libjpeg's
  /// defaults. As in Pillow, a scan that runs into a marker is padded, and a file that ends too
  /// soon throws FileError.
  virtual Image decode() = 0;

 protected:
  JpegFile() = default;
  std::int64_t height_ = 0, width_ = 0, channels_ = 0;
};

/// The file must outlive what is returned; null where the program is built without libjpeg-turbo.
/// Throws FileError starting with `name` for a header that cannot be read, and for files of 2
/// components or more than 8 bits.
std::unique_ptr<JpegFile> open_jpeg(std::span<const std::byte> file, std::string_view name);

}  // namespace fovea::data
