// Default bodies: linear attention through the sums over keys. gdla 2.3, 2.4; mala 3.2.
#include "backend/composed/linear_map.h"

namespace fovea {

using namespace composed;

namespace {

Tensor lambda_of(const LinearAttentionArgs& args, const LinearAttentionInputs& in) {
  return wide(in.lambda).alias({1, args.heads, 1, args.v.dim});
}

// The norm, residual and gate of the heads' results y (batch, heads, queries, width), with
// gradients.
struct Finish {
  Tensor y, rstd, normed, weight;  // of the norm, or undefined
  Tensor before, gate, factor;     // of the gate: what it multiplies, and its function

  Finish(const LinearAttentionArgs& args, const LinearAttentionInputs& in, const Tensor& given)
      : y(given), before(given) {
    if (in.weight.defined()) {
      const Tensor squares = over_rows(ReduceOp::kMean, unary(UnaryOp::kSquare, y));
      rstd = unary(UnaryOp::kRsqrt, affine(squares, 1, args.norm_eps));
      normed = mul(y, rstd);
      weight = wide(in.weight);
      before = mul(normed, weight);
    }
    if (in.residual.defined())
      before = add(before, take_heads(in.residual, args.residual, args.batch, args.queries));
    if (!in.gate.defined()) return;
    gate = take_heads(in.gate, args.gate, args.batch, args.queries);
    factor = args.gate_op == UnaryOp::kAffine ? gate : unary(args.gate_op, gate);
  }

  Tensor result() const { return gate.defined() ? mul(before, factor) : before; }

  // The gradient of y; writes those of the weight and the gate.
  Tensor backward(const LinearAttentionArgs& args, const Tensor& dout,
                  const LinearAttentionGradients& to) const {
    Tensor gradient = dout;
    if (gate.defined()) {
      if (to.gate.defined()) {
        const Tensor dgate = Tensor::empty_like(gate);
        fovea::backend(gate).unary_backward({.op = args.gate_op,
                                             .params = {1, 0},
                                             .x = gate,
                                             .y = factor,
                                             .dy = mul(dout, before),
                                             .dx = dgate});
        put_heads(dgate, args.gate, args.add, to.gate);
      }
      gradient = mul(dout, factor);
    }
    if (to.residual.defined()) put_heads(gradient, args.residual, args.add, to.residual);
    if (!weight.defined()) return gradient;
    if (to.weight.defined())
      write(composed::reduce(ReduceOp::kSum, mul(gradient, normed), {1, 1, 1, y.size(3)}),
            to.weight);
    return norm_gradient(normed, mul(gradient, weight), rstd, false);
  }
};

// Rows of both maps, one below the other in each head.
Tensor stacked(const Tensor& first, const Tensor& second) {
  const std::int64_t items = first.size(0) * first.size(1);
  const std::int64_t size = first.numel() / items;
  const Tensor both = Tensor::empty({items, 2 * size}, first.dtype(), first.device());
  put_columns(first.alias({items, size}), 0, both);
  put_columns(second.alias({items, size}), size, both);
  return both;
}

void write_sums(const LinearAttentionSums& from, const LinearAttentionSums* second,
                const LinearAttentionSums& to) {
  write(second ? stacked(from.products, second->products) : from.products, to.products);
  write(second ? stacked(from.keys, second->keys) : from.keys, to.keys);
  if (to.values.defined()) write(from.values, to.values);
}

}  // namespace

void Backend::linear_attention(const LinearAttentionArgs& args, const LinearAttentionInputs& in,
                               const Tensor& out, const LinearAttentionSums& sums) const {
  if (out.numel() == 0) return;
  const LinearMap first(args, in, false);
  Tensor y = first.result();
  if (args.two_maps()) {
    const LinearMap second(args, in, true);
    y = sub(y, mul(lambda_of(args, in), second.result()));
    const LinearAttentionSums others = second.sums();
    write_sums(first.sums(), &others, sums);
  } else {
    write_sums(first.sums(), nullptr, sums);
  }
  write(permuted(Finish(args, in, y).result(), {0, 2, 1, 3}), out);
}

void Backend::linear_attention_backward(const LinearAttentionArgs& args,
                                        const LinearAttentionInputs& in,
                                        const LinearAttentionUpstream& upstream,
                                        const LinearAttentionGradients& to) const {
  const Tensor given = upstream.dout.alias({args.batch, args.queries, args.heads, args.v.dim});
  const Tensor dfinished = wide(permuted(given, {0, 2, 1, 3}));
  const LinearMap first(args, in, false);
  if (!args.two_maps()) {
    const Tensor dy = Finish(args, in, first.result()).backward(args, dfinished, to);
    const Tensor dv = first.backward(dy, to);
    if (to.v.defined()) put_heads(dv, args.v, args.add, to.v);
    return;
  }
  const LinearMap second(args, in, true);
  const Tensor y = sub(first.result(), mul(lambda_of(args, in), second.result()));
  const Tensor dy = Finish(args, in, y).backward(args, dfinished, to);
  const Tensor dsecond = affine(dy, -1);
  if (to.lambda.defined())
    write(composed::reduce(ReduceOp::kSum, mul(dsecond, second.result()),
                           {1, args.heads, 1, args.v.dim}),
          to.lambda);
  const Tensor dv =
      add(first.backward(dy, to), second.backward(mul(lambda_of(args, in), dsecond), to));
  if (to.v.defined()) put_heads(dv, args.v, args.add, to.v);
}

void Backend::rotate(const RotateArgs& args) const {
  write(composed::rotated(args.back, wide(args.x), args.cos, args.sin), args.y);
}

}  // namespace fovea
