// Random fill.
#include "backend/gpu/launch.h"

namespace fovea::gpu {

void GpuBackend::random_uniform(std::uint64_t key, double low, double high, const Tensor& y) const {
  launch_items(Kernel::random_uniform, y.dtype(), y.numel(), Index{y.numel()}, key, Wide{low},
               Wide{high}, y);
}

void GpuBackend::random_normal(std::uint64_t key, const NormalArgs& args, const Tensor& y) const {
  launch_items(Kernel::random_normal, y.dtype(), y.numel(), Index{y.numel()}, key, Wide{args.mean},
               Wide{args.stddev}, Wide{args.low}, Wide{args.high}, y);
}

void GpuBackend::dropout(const DropoutArgs& args, const Tensor& x, const Tensor& y) const {
  const DType dtype = x.dtype();
  launch_items(Kernel::dropout, dtype, x.numel(), Index{x.numel()}, args.key, Real{args.p, dtype},
               Real{1 / (1 - args.p), dtype}, Index{args.block}, x, y);
}

}  // namespace fovea::gpu
