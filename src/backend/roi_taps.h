// What the bins of a box read along one axis of a map (RoiAlignArgs). The weights of two axes
// multiply, so that RoIAlign of a plane is a product of two small matrices with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fovea {

/// One side of a box on an axis of `length` pixels, in `bins` bins.
struct RoiSide {
  double first = 0, last = 0;  // places of the map; pixel i is at i
  std::int64_t bins = 0, sampling_ratio = 0, length = 0;
};

/// Calls visit(bin, pixel, weight) for every sample and each pixel that it lies between; the
/// weights of a bin add up to 1, or less where samples lie outside.
template <class Visit>
void for_roi_taps(const RoiSide& side, const Visit& visit) {
  constexpr double kMost = 1e9;  // pixels of a bin
  const double bin = (side.last - side.first) / static_cast<double>(side.bins);
  // (A NaN compares as false.)
  const std::int64_t samples = side.sampling_ratio > 0  ? side.sampling_ratio
                               : bin > 0 && bin < kMost ? static_cast<std::int64_t>(std::ceil(bin))
                                                        : 0;
  const double step = bin / static_cast<double>(samples);
  const double end = static_cast<double>(side.length);
  for (std::int64_t b = 0; b < side.bins; ++b) {
    const double begin = side.first + static_cast<double>(b) * bin;
    // Of a large box most samples may lie outside.
    std::int64_t from = 0, to = samples;
    if (step > 0) {
      const double most = static_cast<double>(samples);
      from = static_cast<std::int64_t>(std::clamp((-2 - begin) / step, 0.0, most));
      to = static_cast<std::int64_t>(std::ceil(std::clamp((end + 1 - begin) / step, 0.0, most)));
    }
    for (std::int64_t s = from; s < to; ++s) {
      const double place = begin + (static_cast<double>(s) + 0.5) * step;
      if (!(place >= -1 && place <= end)) continue;
      const double at = std::clamp(place, 0.0, end - 1);
      const auto low = static_cast<std::int64_t>(at);
      const double fraction = at - static_cast<double>(low);
      visit(b, low, (1 - fraction) / static_cast<double>(samples));
      if (fraction > 0) visit(b, low + 1, fraction / static_cast<double>(samples));
    }
  }
}

/// The sides of a box (number of the item, x1, y1, x2, y2) on a map.
inline RoiSide roi_side(const float* box, int axis, double scale, std::int64_t bins,
                        std::int64_t sampling_ratio, std::int64_t length) {
  const int at = axis == 0 ? 2 : 1;
  return {static_cast<double>(box[at]) * scale - 0.5,
          static_cast<double>(box[at + 2]) * scale - 0.5, bins, sampling_ratio, length};
}

}  // namespace fovea
