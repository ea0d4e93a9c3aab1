// Norms of rows.
#include "backend/gpu/launch.h"
#include "backend/gpu/rows.h"

namespace fovea::gpu {

void GpuBackend::layer_norm(const LayerNormArgs& args) const {
  const DType dtype = args.x.dtype();
  launch_rows(Kernel::layer_norm, dtype, rows_of(args.x), Real{args.eps, dtype}, args.x,
              args.weight, args.bias, args.y, args.mean, args.rstd);
}

void GpuBackend::layer_norm_backward(const LayerNormBackwardArgs& args) const {
  const auto& [x, weight, mean, rstd, dy, dx, dweight, dbias] = args;
  const DType dtype = x.dtype();
  const Rows rows = rows_of(x);
  if (dx.defined())
    launch_rows(Kernel::layer_norm_backward, dtype, rows, x, weight, mean, rstd, dy, dx);
  if (!dweight.defined() && !dbias.defined()) return;
  constexpr std::int64_t kPiece = 64;
  const std::int64_t pieces = (rows.count + kPiece - 1) / kPiece;
  const auto partial = [&](const Tensor& to) {
    return to.defined() ? Tensor::empty({pieces, rows.n}, to.dtype(), to.device()) : to;
  };
  const Tensor of_weight = partial(dweight), of_bias = partial(dbias);
  launch_items(Kernel::layer_norm_columns, dtype, pieces * rows.n, rows.count, rows.n,
               Index{kPiece}, x, mean, rstd, dy, of_weight, of_bias);
  const auto add_pieces = [&](const Tensor& of, const Tensor& to) {
    if (to.defined()) reduce_run(ReduceOp::kSum, true, 1, 1, pieces, rows.n, of, to);
  };
  add_pieces(of_weight, dweight);
  add_pieces(of_bias, dbias);
}

void GpuBackend::rms_norm(const RmsNormArgs& args) const {
  layer_norm({.eps = args.eps,
              .x = args.x,
              .weight = args.weight,
              .y = args.y,
              .mean = {},
              .rstd = args.rstd});
}

void GpuBackend::rms_norm_backward(const RmsNormBackwardArgs& args) const {
  layer_norm_backward({.x = args.x,
                       .weight = args.weight,
                       .rstd = args.rstd,
                       .dy = args.dy,
                       .dx = args.dx,
                       .dweight = args.dweight});
}

}  // namespace fovea::gpu
