// Default bodies: softmax attention through whole maps. Memory grows with queries times keys.
#include "backend/composed/heads.h"

namespace fovea {

using namespace composed;

namespace {

// One stream of queries and keys, its map, and the coefficient of the map.
struct Stream {
  const HeadLayout& q_layout;
  const HeadLayout& k_layout;
  Tensor q, k, c;  // c (batch, heads, queries, 1), or undefined
  Tensor map, lse;

  Stream(const AttentionArgs& args, const AttentionInputs& in, bool second)
      : q_layout(second ? args.q2 : args.q),
        k_layout(second ? args.k2 : args.k),
        q(take_heads(in.q, q_layout, args.batch, args.queries)),
        k(take_heads(in.k, k_layout, args.batch, args.keys)) {
    const SoftRows rows =
        soft_rows(args.causal, affine(head_product(q, false, k, true), args.scale), in.mask);
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
  if (to.q.defined())
    put_heads(head_product(ds, false, stream.k, false), stream.q_layout, args.add, to.q);
  if (to.k.defined())
    put_heads(head_product(ds, true, stream.q, false), stream.k_layout, args.add, to.k);
}

}  // namespace

void Backend::attention(const AttentionArgs& args, const AttentionInputs& in,
                        const AttentionResults& to) const {
  if (to.out.numel() == 0) return;
  const std::vector<Stream> streams = streams_of(args, in);
  const Tensor result =
      head_product(fused(streams), false, take_heads(in.v, args.v, args.batch, args.keys), false);
  write(permuted(result, {0, 2, 1, 3}), to.out);
  const auto maps = static_cast<std::int64_t>(streams.size());
  const Tensor all = to.lse.alias({maps, to.lse.numel() / maps});
  for (std::int64_t i = 0; i < maps; ++i)
    write(streams[static_cast<std::size_t>(i)].lse, all.rows(i, i + 1));
}

void Backend::attention_backward(const AttentionArgs& args, const AttentionInputs& in,
                                 const AttentionUpstream& upstream,
                                 const AttentionGradients& to) const {
  const std::vector<Stream> streams = streams_of(args, in);
  const Tensor given = upstream.dout.alias({args.batch, args.queries, args.heads, args.v.dim});
  const Tensor dout = wide(permuted(given, {0, 2, 1, 3}));
  if (to.v.defined())
    put_heads(head_product(fused(streams), true, dout, false), args.v, args.add, to.v);
  const Tensor dfused =
      head_product(dout, false, take_heads(in.v, args.v, args.batch, args.keys), true);
  backward_of(streams[0], args, dfused, to, to.c1);
  if (streams.size() == 2) backward_of(streams[1], args, dfused, to, to.c2);
}

}  // namespace fovea
