// Default bodies: linear attention through the sums over keys. gdla 2.3, 2.4.
#include <limits>

#include "backend/composed/heads.h"

namespace fovea {

using namespace composed;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor features(FeatureMap map, const Tensor& x) {
  if (map == FeatureMap::kNone) return x;
  // The exponential below 0 itself, which elu(x) + 1 would round away.
  const Tensor below = unary(UnaryOp::kClamp, x, {-kInfinity, 0});
  return add(unary(UnaryOp::kRelu, x), unary(UnaryOp::kExp, below));
}

// The gradient of phi(x) -> that of x: 1 above 0, below it phi itself.
Tensor through(FeatureMap map, const Tensor& phi, const Tensor& gradient) {
  if (map == FeatureMap::kNone) return gradient;
  return mul(gradient, unary(UnaryOp::kClamp, phi, {-kInfinity, 1}));
}

// One map: all of (batch, heads, ...).
struct LinearMap {
  const HeadLayout& q_layout;
  const HeadLayout& k_layout;
  Tensor q, k;    // features: (tokens, dim)
  Tensor s, sum;  // S (dim, width), s (1, dim)
  Tensor z, y;    // the denominator (queries, 1), and the result (queries, width)

  LinearMap(const LinearAttentionArgs& args, const LinearAttentionInputs& in, const Tensor& v,
            bool second)
      : q_layout(second ? args.q2 : args.q),
        k_layout(second ? args.k2 : args.k),
        q(features(args.feature_map, take_heads(in.q, q_layout, args.batch, args.queries))),
        k(features(args.feature_map, take_heads(in.k, k_layout, args.batch, args.keys))),
        s(head_product(k, true, v, false)),
        sum(reduce(ReduceOp::kSum, k, {args.batch, args.heads, 1, q_layout.dim})),
        z(affine(head_product(q, false, sum, true), 1, args.eps)),
        y(div(head_product(q, false, s, false), z)) {}
};

Tensor lambda_of(const LinearAttentionArgs& args, const LinearAttentionInputs& in) {
  return wide(in.lambda).alias({1, args.heads, 1, args.v.dim});
}

// What is made of the heads' results y (batch, heads, queries, width), and the way back.
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
    if (!in.gate.defined()) return;
    gate = take_heads(in.gate, args.gate, args.batch, args.queries);
    factor = unary(args.gate_op, gate);
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
                                             .params = {},
                                             .x = gate,
                                             .y = factor,
                                             .dy = mul(dout, before),
                                             .dx = dgate});
        put_heads(dgate, args.gate, args.add, to.gate);
      }
      gradient = mul(dout, factor);
    }
    if (!weight.defined()) return gradient;
    if (to.weight.defined())
      write(composed::reduce(ReduceOp::kSum, mul(gradient, normed), {1, 1, 1, y.size(3)}),
            to.weight);
    return norm_gradient(normed, mul(gradient, weight), rstd, false);
  }
};

// y1, or y1 - lambda y2.
Tensor joined(const LinearAttentionArgs& args, const LinearAttentionInputs& in, const Tensor& first,
              const Tensor& second) {
  return args.two_maps() ? sub(first, mul(lambda_of(args, in), second)) : first;
}

// Adds what comes from one map to dv, and writes the gradients of its queries and keys.
Tensor backward_of(const LinearMap& map, const LinearAttentionArgs& args, const Tensor& v,
                   const Tensor& dy, const LinearAttentionGradients& to) {
  const Tensor dnumerator = div(dy, map.z);
  const Tensor dz = affine(div(over_rows(ReduceOp::kSum, mul(dy, map.y)), map.z), -1);
  if (to.q.defined()) {
    const Tensor dq = add(head_product(dnumerator, false, map.s, true), mul(dz, map.sum));
    put_heads(through(args.feature_map, map.q, dq), map.q_layout, args.add, to.q);
  }
  const Tensor ds = head_product(map.q, true, dnumerator, false);
  if (to.k.defined()) {
    const Tensor dk = add(head_product(v, false, ds, true), head_product(dz, true, map.q, false));
    put_heads(through(args.feature_map, map.k, dk), map.k_layout, args.add, to.k);
  }
  return head_product(map.k, false, ds, false);
}

}  // namespace

void Backend::linear_attention(const LinearAttentionArgs& args, const LinearAttentionInputs& in,
                               const Tensor& out) const {
  if (out.numel() == 0) return;
  const Tensor v = take_heads(in.v, args.v, args.batch, args.keys);
  const Tensor first = LinearMap(args, in, v, false).y;
  const Tensor second = args.two_maps() ? LinearMap(args, in, v, true).y : Tensor();
  const Tensor y = Finish(args, in, joined(args, in, first, second)).result();
  write(permuted(y, {0, 2, 1, 3}), out);
}

void Backend::linear_attention_backward(const LinearAttentionArgs& args,
                                        const LinearAttentionInputs& in, const Tensor& dout,
                                        const LinearAttentionGradients& to) const {
  const Tensor v = take_heads(in.v, args.v, args.batch, args.keys);
  const Tensor given = dout.alias({args.batch, args.queries, args.heads, args.v.dim});
  const Tensor dfinished = wide(permuted(given, {0, 2, 1, 3}));
  const LinearMap first(args, in, v, false);
  if (!args.two_maps()) {
    const Tensor dy = Finish(args, in, first.y).backward(args, dfinished, to);
    const Tensor dv = backward_of(first, args, v, dy, to);
    if (to.v.defined()) put_heads(dv, args.v, args.add, to.v);
    return;
  }
  const LinearMap second(args, in, v, true);
  const Tensor y = joined(args, in, first.y, second.y);
  const Tensor dy = Finish(args, in, y).backward(args, dfinished, to);
  const Tensor dsecond = affine(dy, -1);
  if (to.lambda.defined())
    write(composed::reduce(ReduceOp::kSum, mul(dsecond, second.y), {1, args.heads, 1, args.v.dim}),
          to.lambda);
  const Tensor dv = add(backward_of(first, args, v, dy, to),
                        backward_of(second, args, v, mul(lambda_of(args, in), dsecond), to));
  if (to.v.defined()) put_heads(dv, args.v, args.add, to.v);
}

}  // namespace fovea
