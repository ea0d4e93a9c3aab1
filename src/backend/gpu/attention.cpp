// Softmax attention, of all keys and inside units.
#include <limits>
#include <span>

#include "backend/composed/heads.h"
#include "backend/gpu/attention_call.h"
#include "backend/gpu/rows.h"

namespace fovea::gpu {
namespace {

// What the kernels do not cover is left to the default bodies: heads wider than their tiles, heads
// that begin where no HeadWalk says, and more tokens than an int counts.
template <class Args>
bool is_covered(const Args& args, std::int64_t tokens, const std::vector<HeadLayout>& layouts) {
  return args.q.dim <= ATTENTION_WIDTH && args.v.dim <= ATTENTION_WIDTH &&
         tokens <= std::numeric_limits<Int32>::max() - ATTENTION_ROWS &&
         std::all_of(layouts.begin(), layouts.end(),
                     [](const HeadLayout& layout) { return head_walk(layout).has_value(); });
}
bool is_covered(const AttentionArgs& args) {
  return is_covered(args, std::max(args.queries, args.keys),
                    {args.q, args.k, args.v, args.q2, args.k2});
}
bool is_covered(const UnitAttentionArgs& args) {
  return is_covered(args, std::max(args.tokens, args.members), {args.q, args.k, args.v});
}

// One head adds to several places at once: these must not meet.
bool adds_apart(const AttentionArgs& args, const AttentionGradients& to) {
  if (!args.add) return true;
  struct Part {
    const Tensor& gradient;
    const HeadLayout& layout;
  };
  const Part queries[] = {{to.q, args.q}, {to.q, args.q2}};
  const Part others[] = {{to.k, args.k}, {to.k, args.k2}, {to.v, args.v}};
  const auto apart = [](std::span<const Part> parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const auto& [a, first] = parts[i];
        const auto& [b, second] = parts[j];
        if (!a.defined() || !b.defined() || !(a.buffer() == b.buffer())) continue;
        const std::size_t heads = std::min(first.head_offsets.size(), second.head_offsets.size());
        for (std::size_t head = 0; head < heads; ++head) {
          const std::int64_t distance = first.head_offsets[head] - second.head_offsets[head];
          if (distance < second.dim && -distance < first.dim) return false;
        }
      }
    }
    return true;
  };
  return apart(queries) && apart(others);
}

}  // namespace

// (Of fewer keys the pass over them that the results spare is short.)
bool GpuBackend::keeps_map_results(const AttentionArgs& args) const {
  return args.two_maps() && args.is_long() && is_covered(args);
}

void GpuBackend::attention(const AttentionArgs& args, const AttentionInputs& in,
                           const AttentionResults& to) const {
  if (!is_covered(args)) return Backend::attention(args, in, to);
  const AttentionCall call(args, in);
  launch_attention(Kernel::attention, call, args.queries, to.out, to.lse, to.map_results);
}

void GpuBackend::attention_backward(const AttentionArgs& args, const AttentionInputs& in,
                                    const AttentionUpstream& upstream,
                                    const AttentionGradients& to) const {
  if (!is_covered(args) || !adds_apart(args, to))
    return Backend::attention_backward(args, in, upstream, to);
  AttentionCall call(args, in);
  const Tensor &lse = upstream.lse, &dout = upstream.dout;
  const Tensor sums = Tensor::empty_like(lse);
  if (upstream.map_results.defined()) {
    launch_rows(Kernel::attention_result_sums, call.dtype, rows_of(sums.numel(), args.v.dim),
                call.shape, dout, upstream.map_results, sums, to.c1, to.c2);
  } else {
    launch_attention(Kernel::attention_row_sums, call, args.queries, lse, dout, sums, to.c1, to.c2);
  }
  for (const HeadWave& wave : head_waves(HeadGroups(args, to.q, to.k, to.v), args.heads)) {
    call.take(wave);
    if (to.q.defined())
      launch_attention(Kernel::attention_dq, call, args.queries, lse, dout, sums, to.q);
    if (to.k.defined() || to.v.defined()) {
      launch_attention(Kernel::attention_dk_dv, call, args.keys, lse, dout, sums, to.k, to.v,
                       Tensor());
    }
  }
}

void GpuBackend::unit_attention(const UnitAttentionArgs& args, const UnitAttentionInputs& in,
                                const Tensor& out, const Tensor& lse) const {
  if (!is_covered(args)) return Backend::unit_attention(args, in, out, lse);
  launch_attention(Kernel::attention, AttentionCall(args, in), args.members, out, lse, Tensor());
}

void GpuBackend::unit_attention_backward(const UnitAttentionArgs& args,
                                         const UnitAttentionInputs& in,
                                         const AttentionUpstream& upstream,
                                         const UnitAttentionGradients& to) const {
  if (!is_covered(args)) return Backend::unit_attention_backward(args, in, upstream, to);
  const AttentionCall call(args, in);
  const Tensor &lse = upstream.lse, &dout = upstream.dout;
  const Tensor sums = Tensor::empty_like(lse);
  launch_attention(Kernel::attention_row_sums, call, args.members, lse, dout, sums, Tensor(),
                   Tensor());
  if (to.q.defined())
    launch_attention(Kernel::attention_dq, call, args.members, lse, dout, sums, to.q);
  const std::int64_t width = args.q.dim + args.v.dim;
  Tensor dpadding;
  if (to.padding.defined()) {
    dpadding = Tensor::empty({args.batch, args.heads, args.units * args.members, width},
                             lse.dtype(), lse.device());
  }
  if (to.k.defined() || to.v.defined() || to.padding.defined()) {
    launch_attention(Kernel::attention_dk_dv, call, args.members, lse, dout, sums, to.k, to.v,
                     dpadding);
  }
  if (to.bias.defined()) attention_bias_backward(call, upstream, sums, to.bias);
  if (!to.padding.defined()) return;
  fill(to.padding, 0);
  const Tensor sum = composed::reduce(ReduceOp::kSum, dpadding, {1, args.heads, 1, width})
                         .alias({args.heads, width});
  const auto put = [&](const HeadLayout& layout, std::int64_t first) {
    const Tensor part = composed::columns(sum, first, layout.dim);
    composed::put_heads(part.alias({1, args.heads, 1, layout.dim}),
                        {0, 0, layout.head_offsets, layout.dim}, false, to.padding);
  };
  put(args.k, 0);
  put(args.v, args.q.dim);
}

// Squares of the bias are too few to fill a device: each is added up in chunks of units as well.
void GpuBackend::attention_bias_backward(const AttentionCall& call,
                                         const AttentionUpstream& upstream, const Tensor& sums,
                                         const Tensor& dbias) const {
  constexpr std::int64_t kGroups = 512;
  const auto parts = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
  const AttentionShape& s = call.shape;
  const std::int64_t squares =
      s.heads * parts(s.queries, ATTENTION_ROWS) * parts(s.keys, ATTENTION_OTHERS);
  if (squares == 0) return;
  const std::int64_t all = std::max<std::int64_t>(1, s.batch * s.units);
  const std::int64_t chunk = parts(all, std::min(all, parts(kGroups, squares)));
  const std::int64_t chunks = parts(all, chunk);
  const Tensor partial =
      chunks == 1 ? dbias : Tensor::empty({chunks, dbias.numel()}, dbias.dtype(), dbias.device());
  launch(Kernel::attention_dbias, call.dtype, squares * chunks, s, call.scale, call.region_mask,
         call.q, call.k, call.v, call.mask, call.table, call.regions, call.bias, call.padding,
         call.c1, call.c2, upstream.lse, upstream.dout, sums, Index{chunk}, partial);
  if (chunks > 1) reduce(ReduceOp::kSum, partial, dbias.alias({1, dbias.numel()}));
}

}  // namespace fovea::gpu
