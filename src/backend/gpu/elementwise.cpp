// Maps of one and two operands.
#include "backend/gpu/launch.h"
#include "backend/gpu/walk.h"

namespace fovea::gpu {

void GpuBackend::unary(UnaryOp op, UnaryParams params, const Tensor& x, const Tensor& y) const {
  const DType dtype = x.dtype();
  if (op == UnaryOp::kIsFinite) {
    launch_items(Kernel::is_finite, dtype, x.numel(), Index{x.numel()}, x, y);
    return;
  }
  launch_items(Kernel::unary, dtype, x.numel(), Index{x.numel()}, static_cast<Int32>(op),
               Real{params.a, dtype}, Real{params.b, dtype}, x, y);
}

void GpuBackend::unary_backward(const UnaryBackwardArgs& args) const {
  const auto& [op, params, x, y, dy, dx] = args;
  const DType dtype = x.dtype();
  launch_items(Kernel::unary_backward, dtype, x.numel(), Index{x.numel()}, static_cast<Int32>(op),
               Real{params.a, dtype}, Real{params.b, dtype}, x, y, dy, dx);
}

void GpuBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) const {
  if (y.numel() == 0) return;
  const Walk walk = walk_over<2>(y.shape(), {a.shape(), b.shape()});
  const Kernel kernel = op >= BinaryOp::kEqual ? Kernel::compare : Kernel::binary;
  launch_items(kernel, a.dtype(), walk.count, walk, static_cast<Int32>(op), a, b, y);
}

}  // namespace fovea::gpu
