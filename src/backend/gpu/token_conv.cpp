// Depthwise convolution of tokens on a grid.
#include "backend/gpu/launch.h"
#include "backend/spatial.h"

namespace fovea::gpu {
namespace {

TokenGrid token_grid(const Tensor& x, const Tensor& weight) {
  TokenGrid s{};
  const int axes = x.rank() - 2;
  std::fill_n(s.size, 3, 1);
  for (int axis = 0; axis < axes; ++axis) s.size[3 - axes + axis] = x.size(1 + axis);
  const Axes kernel = spatial_axes(weight.shape());
  std::copy(kernel.begin(), kernel.end(), s.kernel_size);
  s.batch = x.size(0);
  s.channels = x.size(-1);
  return s;
}

}  // namespace

void GpuBackend::token_conv(const TokenConvArgs& args) const {
  launch_items(Kernel::token_conv, args.x.dtype(), args.x.numel(), token_grid(args.x, args.weight),
               Int32{0}, Int32{args.residual}, args.x, args.weight, args.bias, args.y);
}

void GpuBackend::token_conv_backward(const TokenConvBackwardArgs& args) const {
  const auto& [residual, x, weight, dy, dx, dweight, dbias] = args;
  const TokenGrid grid = token_grid(x, weight);
  if (dx.defined()) {
    launch_items(Kernel::token_conv, x.dtype(), x.numel(), grid, Int32{1}, Int32{residual}, dy,
                 weight, Tensor(), dx);
  }
  if (dweight.defined()) {
    constexpr std::int64_t kTokens = 256;
    const std::int64_t lines = grid.batch * grid.size[0] * grid.size[1];
    const Index piece = std::max<Index>(1, kTokens / std::max<Index>(1, grid.size[2]));
    const std::int64_t pieces = (lines + piece - 1) / piece;
    const Tensor partial =
        Tensor::empty({pieces, weight.numel()}, dweight.dtype(), dweight.device());
    launch_items(Kernel::token_conv_weight, x.dtype(), partial.numel(), grid, piece, x, dy,
                 partial);
    reduce_run(ReduceOp::kSum, true, 1, 1, pieces, weight.numel(), partial, dweight);
  }
  if (dbias.defined()) {
    reduce(ReduceOp::kSum,
           dy.alias({dy.numel() / std::max<Index>(1, grid.channels), grid.channels}),
           dbias.alias({1, grid.channels}));
  }
}

}  // namespace fovea::gpu
