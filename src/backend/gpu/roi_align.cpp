// RoIAlign.
#include "backend/gpu/launch.h"

namespace fovea::gpu {
namespace {

RoiShape roi_shape(const RoiAlignArgs& args, const Tensor& map, const Tensor& bins) {
  return {.boxes = args.boxes.size(0),
          .batch = map.size(0),
          .channels = map.size(1),
          .sampling_ratio = args.sampling_ratio,
          .size = {map.size(2), map.size(3)},
          .bins = {bins.size(2), bins.size(3)},
          .add = args.add ? 1 : 0};
}

}  // namespace

void GpuBackend::roi_align(const RoiAlignArgs& args, const Tensor& x, const Tensor& y) const {
  const std::int64_t results = args.boxes.size(0) * y.size(1) * y.size(2) * y.size(3);
  launch_items(Kernel::roi_align, x.dtype(), results, roi_shape(args, x, y), Wide{args.scale},
               args.boxes, args.rows, x, y);
}

void GpuBackend::roi_align_backward(const RoiAlignArgs& args, const Tensor& dy,
                                    const Tensor& dx) const {
  const std::int64_t blocks = (dx.size(1) + ROI_PLANES - 1) / ROI_PLANES;
  launch_items(Kernel::roi_align_backward, dx.dtype(),
               dx.size(0) * blocks * dx.size(2) * dx.size(3), roi_shape(args, dx, dy),
               Wide{args.scale}, args.boxes, args.rows, dy, dx);
}

}  // namespace fovea::gpu
