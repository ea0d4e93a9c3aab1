#include "ops/detection/masks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/roi_taps.h"
#include "base/error.h"
#include "ops/detection/host_boxes.h"

namespace fovea::ops {
namespace {

// What one place along an axis reads.
struct Tap {
  std::int64_t place, pixel;
  double weight;
};

// (Coordinates are those of roi_side, with pixel i at i.)
std::vector<Tap> target_taps(double first, double last, std::int64_t side, std::int64_t length) {
  std::vector<Tap> taps;
  for_roi_taps({first - 0.5, last - 0.5, side, 0, length},
               [&](std::int64_t bin, std::int64_t pixel, double weight) {
                 taps.push_back({bin, pixel, weight});
               });
  return taps;
}

// to (rows of the taps, width) += what the taps give of rows of `from`.
template <class S>
void add_rows(const std::vector<Tap>& taps, const S* from, std::int64_t ld, std::int64_t width,
              std::vector<double>& to) {
  for (const Tap& tap : taps) {
    const S* row = from + tap.pixel * ld;
    double* sum = to.data() + tap.place * width;
    for (std::int64_t i = 0; i < width; ++i) sum[i] += tap.weight * (row[i] != 0 ? 1.0 : 0.0);
  }
}

// Pixels [0, length) of an image inside a box, which read a mask of s pixels.
std::vector<Tap> paste_taps(double first, double last, std::int64_t s, std::int64_t length) {
  std::vector<Tap> taps;
  const double size = last - first, end = static_cast<double>(length),
               side = static_cast<double>(s);
  if (!(size > 0)) return taps;
  // Behind the outermost centres of the mask half a pixel of it fades out.
  const double fade = 0.5 * size / side;
  const auto begin = static_cast<std::int64_t>(std::clamp(first - fade - 1, 0.0, end));
  const auto stop = static_cast<std::int64_t>(std::clamp(last + fade + 1, 0.0, end));
  for (std::int64_t i = begin; i < stop; ++i) {
    const double at = (static_cast<double>(i) + 0.5 - first) / size * side - 0.5;
    const double low = std::floor(at);
    const auto pixel = static_cast<std::int64_t>(low);
    if (pixel >= 0 && pixel < s) taps.push_back({i, pixel, 1 - (at - low)});
    if (pixel + 1 >= 0 && pixel + 1 < s && at > low) taps.push_back({i, pixel + 1, at - low});
  }
  return taps;
}

}  // namespace

Tensor mask_targets(const Tensor& masks, const Tensor& boxes,
                    const std::vector<std::int64_t>& which, std::int64_t side) {
  const HostBoxes all("mask_targets", "boxes", boxes);
  FOVEA_CHECK(
      masks.rank() == 3 && masks.dtype() == DType::kUint8 && side > 0 &&
          std::ssize(which) == all.count(),
      ShapeError,
      fmt::format("mask_targets: masks are {} {}, {} boxes with {} numbers of masks; expected "
                  "uint8 (m, h, w) and one a box",
                  name_of(masks.dtype()), to_string(masks.shape()), all.count(), which.size()));
  const std::int64_t h = masks.size(1), w = masks.size(2);
  const Tensor targets = Tensor::empty({all.count(), side, side}, DType::kFloat32, boxes.device());
  float* to = targets.data<float>();
  for (std::int64_t i = 0; i < all.count(); ++i, to += side * side) {
    const std::int64_t number = which[static_cast<std::size_t>(i)];
    FOVEA_CHECK(
        number >= 0 && number < masks.size(0), ShapeError,
        fmt::format("mask_targets: box {} has mask {}; there are {}", i, number, masks.size(0)));
    const Box box = all[i];
    const std::vector<Tap> down = target_taps(box.y1, box.y2, side, h);
    const std::vector<Tap> across = target_taps(box.x1, box.x2, side, w);
    std::int64_t first = w, end = 0;  // columns that are read
    for (const Tap& tap : across) {
      first = std::min(first, tap.pixel);
      end = std::max(end, tap.pixel + 1);
    }
    const std::int64_t width = std::max<std::int64_t>(0, end - first);
    std::vector<double> half(static_cast<std::size_t>(side * width));
    if (width > 0)
      add_rows(down, masks.data<std::uint8_t>() + number * h * w + first, w, width, half);
    std::vector<double> whole(static_cast<std::size_t>(side * side));
    for (std::int64_t row = 0; row < side; ++row) {
      for (const Tap& tap : across)
        whole[static_cast<std::size_t>(row * side + tap.place)] +=
            tap.weight * half[static_cast<std::size_t>(row * width + tap.pixel - first)];
    }
    for (std::int64_t k = 0; k < side * side; ++k)
      to[k] = whole[static_cast<std::size_t>(k)] >= 0.5 ? 1 : 0;
  }
  return targets;
}

Tensor paste_masks(const Tensor& probabilities, const Tensor& boxes, std::int64_t h,
                   std::int64_t w) {
  const HostBoxes all("paste_masks", "boxes", boxes);
  const Tensor& p = probabilities;
  FOVEA_CHECK(p.rank() == 3 && p.dtype() == DType::kFloat32 && p.size(0) == all.count() &&
                  p.size(1) == p.size(2) && h >= 0 && w >= 0,
              ShapeError,
              fmt::format("paste_masks: probabilities are {} {} of {} boxes; expected float32 "
                          "(n, s, s), one a box",
                          name_of(p.dtype()), to_string(p.shape()), all.count()));
  const std::int64_t s = p.size(1);
  const Tensor pasted = Tensor::empty({all.count(), h, w}, DType::kFloat32, boxes.device());
  std::fill_n(pasted.data<float>(), pasted.numel(), 0.0f);
  for (std::int64_t i = 0; i < all.count(); ++i) {
    const Box box = all[i];
    const float* from = p.data<float>() + i * s * s;
    float* to = pasted.data<float>() + i * h * w;
    const std::vector<Tap> across = paste_taps(box.x1, box.x2, s, w);
    for (const Tap& row : paste_taps(box.y1, box.y2, s, h)) {
      for (const Tap& column : across) {
        to[row.place * w + column.place] += static_cast<float>(
            row.weight * column.weight * static_cast<double>(from[row.pixel * s + column.pixel]));
      }
    }
  }
  return pasted;
}

}  // namespace fovea::ops
