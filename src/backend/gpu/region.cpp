// Sums of the losses of regions.
#include "backend/gpu/launch.h"

namespace fovea::gpu {
namespace {

Region region_of(const RegionArgs& of) {
  const std::int64_t pixels = of.logits.size(2);
  return {.batch = of.logits.size(0),
          .classes = of.logits.size(1),
          .pixels = pixels,
          .pieces = (pixels + REGION_PIECE - 1) / REGION_PIECE,
          .ignore_index = of.ignore_index,
          .sigmoid = of.sigmoid};
}

}  // namespace

void GpuBackend::region_sums(const RegionSumsArgs& args) const {
  const auto& [of, to] = args;
  const Region s = region_of(of);
  const DType dtype = of.logits.dtype(), wide = to.sums.dtype();
  const Device& device = of.logits.device();
  const std::int64_t sets = s.batch * s.classes;
  Tensor lse;
  if (!of.sigmoid) {
    lse = Tensor::empty({s.batch, s.pixels}, wide, device);
    launch_items(Kernel::region_lse, dtype, lse.numel(), s, of.logits, lse);
  }
  const Tensor partial = Tensor::empty({5, sets, s.pieces}, wide, device);
  launch(Kernel::region_pieces, dtype, sets * s.pieces, s, of.logits, of.target, lse, partial);
  launch_items(Kernel::region_totals, dtype, std::max(sets, s.batch), s, partial, to.both, to.sums,
               to.squares, to.labels, to.surprise);
}

void GpuBackend::region_sums_backward(const RegionSumsBackwardArgs& args) const {
  const RegionArgs& of = args.of;
  launch_items(Kernel::region_backward, of.logits.dtype(), of.target.numel(), region_of(of),
               of.logits, of.target, args.dboth, args.dsums, args.dsquares, args.dsurprise,
               args.dlogits);
}

void GpuBackend::region_areas(const RegionAreasArgs& args) const {
  const auto& [target, area, boundary] = args;
  const Index classes = area.numel(), pixels = target.numel();
  const Index pieces = (pixels + REGION_PIECE - 1) / REGION_PIECE;
  const Tensor partial = Tensor::empty({2, classes, pieces}, area.dtype(), target.device());
  launch(Kernel::region_area_pieces, area.dtype(), classes * pieces, Index{target.size(1)},
         Index{target.size(2)}, pixels, pieces, classes, target, partial);
  launch_items(Kernel::region_areas, area.dtype(), 2 * classes, classes, pieces, partial, area,
               boundary);
}

}  // namespace fovea::gpu
