#include "data/augment/pictures/masked_picture.h"

#include <algorithm>

namespace fovea::data {

OwnPlanes::OwnPlanes(std::int64_t channels, std::int64_t height, std::int64_t width)
    : channels_(channels),
      height_(height),
      width_(width),
      values_(static_cast<std::size_t>(channels * height * width)) {}

void OwnPlanes::keep(const Box& part) {
  OwnPlanes kept(channels_, part.height, part.width);
  crop(planes(), part, kept.planes());
  *this = std::move(kept);
}

void OwnPlanes::resize(std::int64_t height, std::int64_t width, Resampling how) {
  if (height == height_ && width == width_) return;
  OwnPlanes resized(channels_, height, width);
  resample(planes(), resized.planes(), how);
  *this = std::move(resized);
}

void OwnPlanes::pad(const Box& around, std::span<const float> fill) {
  OwnPlanes padded(channels_, around.height, around.width);
  for (std::int64_t c = 0; c < channels_; ++c) {
    float* to = padded.planes().channel(c);
    std::fill(to, to + padded.planes().plane(), fill[static_cast<std::size_t>(c)]);
    const float* from = planes().channel(c);
    for (std::int64_t y = 0; y < height_; ++y)
      std::copy(from + y * width_, from + (y + 1) * width_,
                to + (y - around.top) * padded.width_ - around.left);
  }
  *this = std::move(padded);
}

void MaskedPicture::keep(const Box& part) {
  image.keep(part);
  mask.keep(part);
}

void MaskedPicture::resize(std::int64_t height, std::int64_t width) {
  image.resize(height, width, Resampling::kBilinear);
  mask.resize(height, width, Resampling::kNearest);
}

void MaskedPicture::pad(const Box& around, std::span<const float> fill) {
  image.pad(around, fill);
  mask.pad(around, std::vector<float>{0.0f});
}

}  // namespace fovea::data
