// Checks that decoders do not make: that an image file is complete. stb_image fills what is missing
// from a cut JPEG or BMP with grey and does not verify the checksums of a PNG.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fovea::data {

enum class ImageFormat { kUnknown, kPng, kJpeg, kBmp, kPnm, kTiff, kWebp };

/// Decided by the first bytes, not by the name of the file.
ImageFormat image_format(std::span<const std::byte> file);

/// Empty if the file is complete, else what is wrong with it ("cut short: ...", "chunk IDAT fails
/// its checksum"). Only the container is read, nothing is decoded. For PNG, JPEG and BMP; the
/// decoders of the others find it.
std::string find_damage(std::span<const std::byte> file, ImageFormat format);

}  // namespace fovea::data
