// Maps of one and two operands.
#include "backend/gpu/launch.h"
#include "backend/gpu/rows.h"
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

namespace {

// Of rows of n results: where those of a and b begin, and how far apart they are.
GatedRows gated_rows(const GatedArgs& args, bool packed, std::int64_t n) {
  if (!packed) return {.gate = 0, .other = 0, .ld = n};
  return {.gate = args.gate_last ? n : 0, .other = args.gate_last ? 0 : n, .ld = 2 * n};
}

}  // namespace

void GpuBackend::gated(const GatedArgs& args, const Tensor& x, const Tensor& other,
                       const Tensor& y) const {
  const Rows rows = rows_of(y);
  launch_rows(Kernel::gated, x.dtype(), rows, gated_rows(args, !other.defined(), rows.n),
              static_cast<Int32>(args.op), x, other.defined() ? other : x, y);
}

void GpuBackend::gated_backward(const GatedArgs& args, const Tensor& x, const Tensor& other,
                                const Tensor& dy, const Tensor& dx, const Tensor& dother) const {
  const Rows rows = rows_of(dy);
  const bool packed = !other.defined();
  launch_rows(Kernel::gated_backward, x.dtype(), rows, gated_rows(args, packed, rows.n),
              static_cast<Int32>(args.op), x, packed ? x : other, dy, dx, packed ? dx : dother);
}

void GpuBackend::rotate(const RotateArgs& args) const {
  const auto& [back, x, cos, sin, y] = args;
  launch_items(Kernel::rotate_pairs, x.dtype(), x.numel() / 2, Index{x.numel() / 2},
               Index{x.size(1)}, Index{x.size(2) / 2}, Index{cos.size(1)}, Int32{back}, x, cos, sin,
               y);
}

}  // namespace fovea::gpu
