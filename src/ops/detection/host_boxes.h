// Boxes as loops on the host read them, in float64: limits of overlaps are then met exactly.
#pragma once

#include <algorithm>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

struct Box {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;

  double width() const { return x2 - x1; }
  double height() const { return y2 - y1; }
  double area() const { return width() * height(); }
};

/// Boxes (n, 4) float32 on the host.
class HostBoxes {
 public:
  /// Throws ShapeError for another shape or dtype, BackendError for tensors of other devices.
  /// `what` names them in messages.
  HostBoxes(const char* op, const char* what, const Tensor& boxes);

  std::int64_t count() const { return count_; }
  Box operator[](std::int64_t i) const {
    const float* at = values_ + 4 * i;
    return {at[0], at[1], at[2], at[3]};
  }
  /// Some of them, in this order: (k, 4).
  Tensor rows(const std::vector<std::int64_t>& numbers) const;

 private:
  Tensor boxes_;
  const float* values_;
  std::int64_t count_;
};

inline double intersection(const Box& a, const Box& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return width > 0 && height > 0 ? width * height : 0;
}

/// Below this a union, or an area that divides, counts as this. mala 4.5.
inline constexpr double kLeastArea = 1e-6;

/// Intersection over union. (Most pairs of boxes do not meet.)
inline double overlap(const Box& a, const Box& b) {
  const double both = intersection(a, b);
  return both > 0 ? both / std::max(a.area() + b.area() - both, kLeastArea) : 0;
}
/// Intersection over the area of a.
inline double share_inside(const Box& a, const Box& b) {
  const double both = intersection(a, b);
  return both > 0 ? both / std::max(a.area(), kLeastArea) : 0;
}

}  // namespace fovea::ops
