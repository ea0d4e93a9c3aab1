// Sums and extrema over any axes, one run of neighbouring axes after the other.
#include "backend/gpu/launch.h"

namespace fovea::gpu {
namespace {

// A work item, or a group, reduces at most so many elements; results of pieces are reduced again.
constexpr std::int64_t kItemChunk = 512, kGroupChunk = 1 << 15;
// Shorter rows are left to one work item.
constexpr std::int64_t kShort = 32;

}  // namespace

void GpuBackend::reduce_run(ReduceOp op, bool first_pass, double scale, std::int64_t outer,
                            std::int64_t length, std::int64_t inner, const Tensor& x,
                            const Tensor& y) const {
  const bool by_groups = inner == 1 && length >= kShort;
  const std::int64_t chunk = by_groups ? kGroupChunk : kItemChunk;
  const std::int64_t chunks = std::max<std::int64_t>(1, (length + chunk - 1) / chunk);
  const RunShape s{.outer = outer,
                   .length = length,
                   .inner = inner,
                   .chunk = chunk,
                   .chunks = chunks,
                   .op = static_cast<Int32>(op),
                   .first_pass = first_pass};
  const bool last = chunks == 1;
  const Tensor to = last ? y : Tensor::empty({outer, chunks, inner}, y.dtype(), y.device());
  const Real factor{last ? scale : 1, x.dtype()};
  if (by_groups) {
    launch(Kernel::reduce_row, x.dtype(), outer * chunks, s, factor, x, to);
  } else {
    launch_items(Kernel::reduce, x.dtype(), outer * chunks * inner, s, factor, x, to);
  }
  if (!last) reduce_run(op, false, scale, outer, chunks, inner, to, y);
}

void GpuBackend::reduce(ReduceOp op, const Tensor& x, const Tensor& y) const {
  if (y.numel() == 0) return;
  const DType wide = compute_dtype(x.dtype());
  std::int64_t reduced = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (y.size(axis) != x.size(axis)) reduced *= x.size(axis);
  }
  double scale = 1;
  if (op == ReduceOp::kMean) scale = reduced > 0 ? 1.0 / static_cast<double>(reduced) : 0.0;

  // The last run is reduced first, into what the next one reads.
  Tensor now = x;
  Shape shape = x.shape();
  bool first_pass = true;
  for (int end = x.rank(); end > 0;) {
    const auto is_reduced = [&](int axis) { return y.size(axis) != x.size(axis); };
    if (!is_reduced(end - 1)) {
      --end;
      continue;
    }
    int begin = end - 1;
    while (begin > 0 && (is_reduced(begin - 1) || shape[begin - 1] == 1)) --begin;
    const std::int64_t length = shape.part(begin, end).numel();
    for (int axis = begin; axis < end; ++axis) shape[axis] = 1;
    bool last = true;
    for (int axis = 0; axis < begin; ++axis) last = last && !is_reduced(axis);
    const bool straight = last && y.dtype() == wide;
    const Tensor to = straight ? y : Tensor::empty(shape, wide, x.device());
    reduce_run(op, first_pass, last ? scale : 1, shape.part(0, begin).numel(), length,
               shape.part(end, x.rank()).numel(), now, to);
    now = to;
    first_pass = false;
    end = begin;
  }
  if (first_pass && op == ReduceOp::kSumSquares) {
    unary(UnaryOp::kSquare, {}, x, y);
  } else if (first_pass || y.dtype() != wide) {
    cast(now, y);
  }
}

void GpuBackend::arg_reduce(bool maximum, const Tensor& x, const Tensor& y) const {
  launch_items(Kernel::arg_reduce, x.dtype(), y.numel(), Index{y.numel()}, Index{x.shape().back()},
               static_cast<Int32>(maximum), x, y);
}

}  // namespace fovea::gpu
