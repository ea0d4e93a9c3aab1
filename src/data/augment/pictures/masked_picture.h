// A picture with its mask while they are augmented, both as large as transforms leave them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/augment/geometry.h"

namespace fovea::data {

/// Planes with memory of their own.
class OwnPlanes {
 public:
  /// Of an image's size; the values are for the caller to set.
  explicit OwnPlanes(const Image& image) : OwnPlanes(image.channels, image.height, image.width) {}
  OwnPlanes(std::int64_t channels, std::int64_t height, std::int64_t width);
  OwnPlanes(OwnPlanes&&) = default;
  OwnPlanes& operator=(OwnPlanes&&) = default;

  Planes planes() { return {channels_, height_, width_, values_.data()}; }
  std::vector<float>& values() { return values_; }
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  /// What turned by a quarter in place.
  void swap_sides() { std::swap(height_, width_); }
  /// Keeps a part, which lies inside.
  void keep(const Box& part);
  void resize(std::int64_t height, std::int64_t width, Resampling how);
  /// Adds pixels on all sides, one value a channel, so that there is what `around` is, which has
  /// its place in this picture and holds it whole.
  void pad(const Box& around, std::span<const float> fill);

 private:
  std::int64_t channels_, height_, width_;
  std::vector<float> values_;
};

/// Both of one size.
struct MaskedPicture {
  OwnPlanes image;
  OwnPlanes mask;
  bool labels = false;  // mask: 1 + class, 0 where there is none; else shares in [0, 1]

  void keep(const Box& part);
  /// The image bilinearly between the centres of pixels, without averaging; the mask by the nearest
  /// pixel.
  void resize(std::int64_t height, std::int64_t width);
  /// The image with one value a channel, the mask with 0: pixels without a label, or background.
  void pad(const Box& around, std::span<const float> fill);
};

}  // namespace fovea::data
