#include "ops/detection/anchors.h"

#include <cmath>

#include "backend/devices.h"
#include "base/error.h"
#include "ops/detection/host_boxes.h"

namespace fovea::ops {

Tensor grid_anchors(std::int64_t h, std::int64_t w, double stride, const AnchorOptions& options) {
  FOVEA_CHECK(options.of_place() > 0, ShapeError, "grid_anchors: no scales or no ratios");
  std::vector<Box> base;  // of the place at 0
  const double centre = options.center_offset * stride;
  for (const double ratio : options.ratios) {
    for (const double scale : options.scales) {
      const double half_w = 0.5 * scale * stride / std::sqrt(ratio);
      const double half_h = 0.5 * scale * stride * std::sqrt(ratio);
      base.push_back({centre - half_w, centre - half_h, centre + half_w, centre + half_h});
    }
  }
  const Tensor anchors =
      Tensor::empty({h * w * options.of_place(), 4}, DType::kFloat32, make_cpu(1));
  float* to = anchors.data<float>();
  for (std::int64_t row = 0; row < h; ++row) {
    for (std::int64_t column = 0; column < w; ++column) {
      const double x = static_cast<double>(column) * stride;
      const double y = static_cast<double>(row) * stride;
      for (const Box& box : base) {
        for (const double side : {box.x1 + x, box.y1 + y, box.x2 + x, box.y2 + y})
          *to++ = static_cast<float>(side);
      }
    }
  }
  return anchors;
}

}  // namespace fovea::ops
