// Moving every pixel to a place of its own, and smoothing, as OpenCV and albumentations do it.
// gdla 6.4. Values stay unrounded in [0, 1], where the public code rounds to 8 bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "data/augment/corruptions.h"

namespace fovea::data {

/// Place i of an axis of n pixels that is mirrored at its outermost pixels: 2 1 | 0 1 2 ...,
/// OpenCV's BORDER_REFLECT_101.
std::int64_t reflected(std::int64_t i, std::int64_t n);

/// Gaussian of 2 radius + 1 pixels along rows, then columns; mirrored at the ends.
void smooth(Planes x, std::int64_t radius, double sigma);

/// Every pixel takes the old one at place(i, j), (row, column): images bilinear, masks nearest.
/// Outside are the mirrored pixels (reflect), or 0.
template <class Place>
void warp(Planes x, bool mask, bool reflect, const Place& place) {
  const std::vector<float> old(x.data, x.data + x.size());
  const auto at = [&](const float* plane, std::int64_t i, std::int64_t j) {
    if (reflect) return plane[reflected(i, x.height) * x.width + reflected(j, x.width)];
    return i < 0 || i >= x.height || j < 0 || j >= x.width ? 0.0f : plane[i * x.width + j];
  };
  for (std::int64_t i = 0; i < x.height; ++i) {
    for (std::int64_t j = 0; j < x.width; ++j) {
      const auto [row, column] = place(i, j);
      const double up = std::floor(mask ? row + 0.5 : row);
      const double left = std::floor(mask ? column + 0.5 : column);
      const auto top = static_cast<std::int64_t>(up);
      const auto first = static_cast<std::int64_t>(left);
      const auto down = static_cast<float>(row - up);
      const auto right = static_cast<float>(column - left);
      for (std::int64_t c = 0; c < x.channels; ++c) {
        const float* plane = old.data() + c * x.plane();
        float& out = x.channel(c)[i * x.width + j];
        out = at(plane, top, first);
        if (mask) continue;
        const float above = out + right * (at(plane, top, first + 1) - out);
        const float lower = at(plane, top + 1, first);
        const float below = lower + right * (at(plane, top + 1, first + 1) - lower);
        out = above + down * (below - above);
      }
    }
  }
}

}  // namespace fovea::data
