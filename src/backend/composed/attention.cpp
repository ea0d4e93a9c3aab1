// Default bodies: softmax attention through whole maps. Memory grows with queries times keys.
#include "backend/composed/composed.h"

namespace fovea {

using namespace composed;

namespace {

// Heads of a projection as (batch, heads, tokens, dim) in the compute type.
Tensor take(const AttentionArgs& args, const Tensor& from, const HeadLayout& layout,
            std::int64_t tokens) {
  const Tensor heads =
      Tensor::empty({args.batch, args.heads, tokens, layout.dim}, from.dtype(), from.device());
  CopyArgs copy;
  copy.shape = {args.batch, tokens, layout.dim};
  copy.src_strides = {layout.batch_stride, layout.token_stride, 1};
  copy.dst_strides = {args.heads * tokens * layout.dim, layout.dim, 1};
  for (std::int64_t head = 0; head < args.heads; ++head) {
    copy.src_offset = layout.head_offsets[static_cast<std::size_t>(head)];
    copy.dst_offset = head * tokens * layout.dim;
    backend(from).copy(copy, from, heads);
  }
  return wide(heads);
}

// The way back: heads to, or added to, where they are in a gradient.
void put(const AttentionArgs& args, const Tensor& heads, const HeadLayout& layout,
         const Tensor& to) {
  const Tensor from = as(heads, to.dtype());
  const std::int64_t tokens = from.size(2);
  CopyArgs copy;
  copy.shape = {args.batch, tokens, layout.dim};
  copy.src_strides = {args.heads * tokens * layout.dim, layout.dim, 1};
  copy.dst_strides = {layout.batch_stride, layout.token_stride, 1};
  copy.accumulate = args.add;
  for (std::int64_t head = 0; head < args.heads; ++head) {
    copy.src_offset = head * tokens * layout.dim;
    copy.dst_offset = layout.head_offsets[static_cast<std::size_t>(head)];
    backend(to).copy(copy, from, to);
  }
}

// op(a) op(b) of every head of every item.
Tensor product(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b) {
  GemmArgs args{.trans_a = trans_a, .trans_b = trans_b};
  args.m = a.size(trans_a ? 3 : 2);
  args.k = a.size(trans_a ? 2 : 3);
  args.n = b.size(trans_b ? 2 : 3);
  args.lda = a.size(3);
  args.ldb = b.size(3);
  args.ldc = args.n;
  args.batch = a.size(0) * a.size(1);
  args.stride_a = a.size(2) * a.size(3);
  args.stride_b = b.size(2) * b.size(3);
  args.stride_c = args.m * args.n;
  Tensor c = Tensor::empty({a.size(0), a.size(1), args.m, args.n}, a.dtype(), a.device());
  backend(a).gemm(args, a, b, {}, c);
  return c;
}

// One stream of queries and keys, its map and what multiplies the map.
struct Stream {
  const HeadLayout& q_layout;
  const HeadLayout& k_layout;
  Tensor q, k, c;  // c (batch, heads, queries, 1), or undefined
  Tensor map, lse;

  Stream(const AttentionArgs& args, const AttentionInputs& in, bool second)
      : q_layout(second ? args.q2 : args.q),
        k_layout(second ? args.k2 : args.k),
        q(take(args, in.q, q_layout, args.queries)),
        k(take(args, in.k, k_layout, args.keys)) {
    const SoftRows rows =
        soft_rows(args.causal, affine(product(q, false, k, true), args.scale), in.mask);
    map = rows.p.alias({args.batch, args.heads, args.queries, args.keys});
    lse = rows.lse;
    if (!args.two_maps()) return;
    const Tensor given = wide(second ? in.c2 : in.c1);
    c = permuted(given, {0, 2, 1}).alias({args.batch, args.heads, args.queries, 1});
  }
  Tensor weighted() const { return c.defined() ? mul(map, c) : map; }
};

std::vector<Stream> streams_of(const AttentionArgs& args, const AttentionInputs& in) {
  std::vector<Stream> streams{Stream(args, in, false)};
  if (args.two_maps()) streams.emplace_back(args, in, true);
  return streams;
}

Tensor fused(const std::vector<Stream>& streams) {
  const Tensor first = streams[0].weighted();
  return streams.size() == 1 ? first : add(first, streams[1].weighted());
}

// Gradient of the scores, and of c. dgsa 2.2 (backward).
void backward_of(const Stream& stream, const AttentionArgs& args, const Tensor& dfused,
                 const AttentionGradients& to, const Tensor& dc) {
  const Tensor dot = over_rows(ReduceOp::kSum, mul(stream.map, dfused));
  if (dc.defined()) write(permuted(dot.alias(dot.shape().part(0, 3)), {0, 2, 1}), dc);
  const Tensor ds = affine(mul(stream.weighted(), sub(dfused, dot)), args.scale);
  if (to.q.defined()) put(args, product(ds, false, stream.k, false), stream.q_layout, to.q);
  if (to.k.defined()) put(args, product(ds, true, stream.q, false), stream.k_layout, to.k);
}

}  // namespace

void Backend::attention(const AttentionArgs& args, const AttentionInputs& in, const Tensor& out,
                        const Tensor& lse) const {
  if (out.numel() == 0) return;
  const std::vector<Stream> streams = streams_of(args, in);
  const Tensor result = product(fused(streams), false, take(args, in.v, args.v, args.keys), false);
  write(permuted(result, {0, 2, 1, 3}), out);
  const auto maps = static_cast<std::int64_t>(streams.size());
  const Tensor all = lse.alias({maps, lse.numel() / maps});
  for (std::int64_t i = 0; i < maps; ++i)
    write(streams[static_cast<std::size_t>(i)].lse, all.rows(i, i + 1));
}

void Backend::attention_backward(const AttentionArgs& args, const AttentionInputs& in,
                                 const AttentionUpstream& upstream,
                                 const AttentionGradients& to) const {
  const std::vector<Stream> streams = streams_of(args, in);
  const Tensor given = upstream.dout.alias({args.batch, args.queries, args.heads, args.v.dim});
  const Tensor dout = wide(permuted(given, {0, 2, 1, 3}));
  if (to.v.defined()) put(args, product(fused(streams), true, dout, false), args.v, to.v);
  const Tensor dfused = product(dout, false, take(args, in.v, args.v, args.keys), true);
  backward_of(streams[0], args, dfused, to, to.c1);
  if (streams.size() == 2) backward_of(streams[1], args, dfused, to, to.c2);
}

}  // namespace fovea
