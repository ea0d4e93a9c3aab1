// Norms of channels, sums of planes.
#include <limits>

#include "backend/gpu/launch.h"
#include "backend/gpu/rows.h"

namespace fovea::gpu {
namespace {

Planes planes_of(const Tensor& x, std::int64_t groups, bool relu = false) {
  constexpr std::int64_t kPiece = 1 << 13;
  const std::int64_t space = x.shape().part(2, x.rank()).numel();
  return {.batch = x.size(0),
          .channels = x.size(1),
          .space = space,
          .groups = groups,
          .piece = std::min(kPiece, space),
          .pieces = (space + kPiece - 1) / kPiece,
          .relu = relu};
}

Rows pieces_of(const Planes& s) { return rows_of(s.batch * s.channels * s.pieces, s.piece); }

// Layer attention counts the places of a plane in int; larger ones are left to the default bodies.
bool is_covered(const ValueNorm& of) {
  return of.u.size(2) * of.u.size(3) <= std::numeric_limits<Int32>::max();
}

}  // namespace

void GpuBackend::channel_norm_stats(const ChannelStatsArgs& args) const {
  const Planes planes = planes_of(args.x, args.groups);
  const Rows pieces = pieces_of(planes);
  const DType dtype = args.x.dtype();
  const Tensor means = Tensor::empty({pieces.count}, args.mean.dtype(), args.x.device());
  const Tensor squares = Tensor::empty_like(means);
  launch_rows(Kernel::channel_piece_stats, dtype, pieces, planes, args.x, means, squares);
  launch(Kernel::channel_set_stats, dtype, args.mean.numel(), planes, Real{args.eps, dtype}, means,
         squares, args.mean, args.rstd);
}

void GpuBackend::channel_norm(const NormedMap& of, const Tensor& y) const {
  const Planes planes = planes_of(of.x, of.groups, of.relu);
  launch_rows(Kernel::channel_norm, of.x.dtype(), pieces_of(planes), planes, of.x, of.norm.mean,
              of.norm.rstd, of.norm.weight, of.norm.bias, of.residual, Tensor(), y);
}

void GpuBackend::channel_norm_backward(const ChannelNormBackwardArgs& args) const {
  const NormedMap& of = args.of;
  const ChannelNorm& norm = of.norm;
  const ChannelNormGradients& to = args.to;
  const DType dtype = of.x.dtype();
  const Planes planes = planes_of(of.x, of.groups, of.relu);
  const bool by_means = to.x.defined() && !of.fixed_stats;
  Tensor mean_e, mean_with_normed;
  if (by_means || to.weight.defined() || to.bias.defined()) {
    const Rows pieces = pieces_of(planes);
    const Tensor sums = Tensor::empty({pieces.count}, norm.rstd.dtype(), of.x.device());
    const Tensor with_normed = Tensor::empty_like(sums);
    launch_rows(Kernel::channel_piece_sums, dtype, pieces, planes, of.x, norm.mean, norm.rstd,
                norm.weight, norm.bias, of.residual, args.y, args.dy, sums, with_normed);
    Index sets = 0;
    if (by_means) {
      sets = norm.rstd.numel();
      mean_e = Tensor::empty_like(norm.rstd);
      mean_with_normed = Tensor::empty_like(norm.rstd);
    }
    launch_items(Kernel::channel_totals, dtype, std::max<Index>(planes.channels, sets), planes,
                 sets, sums, with_normed, norm.weight, to.weight, to.bias, mean_e,
                 mean_with_normed);
  }
  if (!to.x.defined() && !to.residual.defined()) return;
  launch_rows(Kernel::channel_norm_backward, dtype, pieces_of(planes), planes, of.x, norm.mean,
              norm.rstd, norm.weight, norm.bias, of.residual, args.y, mean_e, mean_with_normed,
              args.dy, to.x, to.residual);
}

void GpuBackend::scaled_sum(const Tensor& u, const Tensor& w, const Tensor& x,
                            const Tensor& y) const {
  launch_rows(Kernel::scaled_sum, x.dtype(), rows_of(w.numel(), planes_of(x, 0).space), u, w, x, y);
}

void GpuBackend::scaled_sum_backward(const Tensor& x, const Tensor& dy, const Tensor& dw) const {
  launch_rows(Kernel::scaled_sum_backward, x.dtype(), rows_of(dw.numel(), planes_of(x, 0).space), x,
              dy, dw);
}

// ---- Layer attention over a running sum of maps ----

template <class... More>
void GpuBackend::launch_value(Kernel kernel, const ValueNorm& of, const More&... more) const {
  const Planes planes = planes_of(of.u, 0, of.relu);
  launch_rows(kernel, of.u.dtype(), pieces_of(planes), planes, static_cast<Int32>(of.u.size(3)),
              of.u, of.kernel, of.scale, of.norm.mean, of.norm.rstd, of.norm.weight, of.norm.bias,
              of.keep, more...);
}

void GpuBackend::running_value(const RunningValueArgs& args, const ValueNorm& of) const {
  if (!is_covered(of)) return Backend::running_value(args, of);
  scaled_sum(args.before, args.w, args.x, of.u);
  if (of.fixed_stats) return;
  const Planes planes = planes_of(of.u, 0);
  const DType dtype = of.u.dtype();
  const Tensor means = Tensor::empty({pieces_of(planes).count}, of.scale.dtype(), of.u.device());
  const Tensor squares = Tensor::empty_like(means);
  launch_value(Kernel::value_piece_stats, of, means, squares);
  launch(Kernel::channel_set_stats, dtype, planes.channels, planes, Real{args.eps, dtype}, means,
         squares, of.norm.mean, of.norm.rstd);
}

void GpuBackend::value_norm(const ValueNorm& of, const Tensor& x, const Tensor& y) const {
  if (!is_covered(of)) return Backend::value_norm(of, x, y);
  launch_value(Kernel::value_norm, of, of.add_x ? x : Tensor(), y);
}

void GpuBackend::value_norm_backward(const ValueNormBackwardArgs& args) const {
  const auto& [of, w, x, dy, to] = args;
  if (!is_covered(of)) return Backend::value_norm_backward(args);
  const DType dtype = of.u.dtype();
  const Planes planes = planes_of(of.u, 0, of.relu);
  const auto width = static_cast<Int32>(of.u.size(3));
  const auto made = [&](const Shape& shape) {
    return Tensor::empty(shape, of.scale.dtype(), of.u.device());
  };
  Tensor mean_e, mean_with_normed;
  if (!of.fixed_stats || to.weight.defined() || to.bias.defined()) {
    const Tensor sums = made({pieces_of(planes).count});
    const Tensor with_normed = Tensor::empty_like(sums);
    launch_value(Kernel::value_piece_sums, of, dy, sums, with_normed);
    if (!of.fixed_stats) {
      mean_e = made({planes.channels});
      mean_with_normed = made({planes.channels});
    }
    launch_items(Kernel::channel_totals, dtype, planes.channels, planes,
                 Index{of.fixed_stats ? 0 : planes.channels}, sums, with_normed, of.norm.weight,
                 to.weight, to.bias, mean_e, mean_with_normed);
  }
  const Tensor dv = made(of.u.shape());
  launch_value(Kernel::value_gradient, of, mean_e, mean_with_normed, dy, dv);
  const std::int64_t count = planes.batch * planes.channels;
  const Tensor taps = made({count, 9});
  launch_rows(Kernel::value_taps, dtype, rows_of(9 * count, planes.space), planes, width, of.u, dv,
              taps);
  launch_items(Kernel::value_parameters, dtype, std::max(count, 9 * planes.channels), planes, taps,
               of.kernel, of.scale, to.scale, to.kernel);
  launch_rows(Kernel::value_back, dtype, pieces_of(planes), planes, width, Int32{to.adds},
              of.kernel, of.scale, w, dv, of.add_x ? dy : Tensor(), to.u, to.x);
  if (to.w.defined()) scaled_sum_backward(x, to.u, to.w);
}

}  // namespace fovea::gpu
