#include "ops/attention/linear_attention_call.h"

#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/relevance.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {
namespace {

void check_tables(const char* op, const RotaryTables& rotary, std::int64_t n, std::int64_t dim,
                  DType dtype) {
  const Shape expected{n, dim / 2};
  FOVEA_CHECK(dim % 2 == 0 && rotary.sin.defined() && rotary.cos.shape() == expected &&
                  rotary.sin.shape() == expected && rotary.cos.dtype() == dtype &&
                  rotary.sin.dtype() == dtype,
              ShapeError,
              fmt::format("{}: cos is {} {}; expected it and sin {} {} for heads of {}", op,
                          name_of(rotary.cos.dtype()), to_string(rotary.cos.shape()),
                          name_of(dtype), to_string(expected), dim));
}

}  // namespace

LinearAttentionCall::LinearAttentionCall(const char* op, const HeadView& q, const HeadView& k,
                                         const HeadView& v)
    : name(op), in{.q = q.x, .k = k.x, .v = v.x}, views{q, k, v} {
  views::check_view(op, "q", q);
  views::check_view(op, "k", k);
  views::check_view(op, "v", v);
  const bool fits = q.dim == k.dim && q.offsets.size() == k.offsets.size() &&
                    k.offsets.size() == v.offsets.size() && q.x.size(0) == k.x.size(0) &&
                    k.x.size(0) == v.x.size(0) && k.x.size(1) == v.x.size(1);
  FOVEA_CHECK(
      fits, ShapeError,
      fmt::format("{}: q is {} with {} heads of {}, k {} with {} of {}, v {} with {}; "
                  "expected equal batch, heads and head_dim, and as many keys as values",
                  op, to_string(q.x.shape()), q.offsets.size(), q.dim, to_string(k.x.shape()),
                  k.offsets.size(), k.dim, to_string(v.x.shape()), v.offsets.size()));
  args.batch = q.x.size(0);
  args.heads = static_cast<std::int64_t>(q.offsets.size());
  args.queries = q.x.size(1);
  args.keys = k.x.size(1);
  args.q = views::layout_of(q);
  args.k = views::layout_of(k);
  args.v = views::layout_of(v);
}

void LinearAttentionCall::seen(bool causal, const Tensor& key_mask, const RotaryTables& rotary) {
  args.causal = causal;
  FOVEA_CHECK(!causal || args.queries == args.keys, ShapeError,
              fmt::format("{}: {} queries and {} keys; causal attention needs as many", name,
                          args.queries, args.keys));
  if (key_mask.defined()) {
    FOVEA_CHECK(!causal && key_mask.shape() == Shape({args.batch, args.keys}) &&
                    key_mask.dtype() == DType::kUint8,
                ShapeError,
                fmt::format("{}: key_mask is {} {}; expected uint8 ({}, {}), and none for causal "
                            "attention",
                            name, name_of(key_mask.dtype()), to_string(key_mask.shape()),
                            args.batch, args.keys));
    in.mask = key_mask;
  }
  if (!rotary.cos.defined()) return;
  check_tables(name, rotary, args.keys, args.q.dim, compute_dtype(in.q.dtype()));
  FOVEA_CHECK(args.queries == args.keys, ShapeError,
              fmt::format("{}: {} queries and {} keys; rotary positions need as many", name,
                          args.queries, args.keys));
  in.cos = rotary.cos;
  in.sin = rotary.sin;
}

void LinearAttentionCall::finish(const HeadFinish& finish) {
  const DType dtype = compute_dtype(in.q.dtype());
  in.weight = finish.weight;
  args.norm_eps = finish.norm_eps;
  FOVEA_CHECK(!in.weight.defined() ||
                  (in.weight.shape() == Shape{args.v.dim} && in.weight.dtype() == dtype),
              ShapeError,
              fmt::format("{}: weight is {}; expected {} ({})", name,
                          in.weight.defined() ? to_string(in.weight.shape()) : "none",
                          name_of(dtype), args.v.dim));
  const auto add_view = [&](const char* what, const HeadView& view, Tensor& x, HeadLayout& layout) {
    if (!view.x.defined()) return;
    views::check_view(name, what, view);
    FOVEA_CHECK(std::ssize(view.offsets) == args.heads && view.dim == args.v.dim &&
                    view.x.size(0) == args.batch && view.x.size(1) == args.queries,
                ShapeError,
                fmt::format("{}: {} is {} with {} heads of {}; expected ({}, {}, width) with {} "
                            "of {}",
                            name, what, to_string(view.x.shape()), view.offsets.size(), view.dim,
                            args.batch, args.queries, args.heads, args.v.dim));
    x = view.x;
    layout = views::layout_of(view);
    views.push_back(view);
  };
  add_view("residual", finish.residual, in.residual, args.residual);
  add_view("gate", finish.gate, in.gate, args.gate);
  args.gate_op = finish.gate_op;
}

void LinearAttentionCall::check_parameter(const char* what, const Tensor& x) const {
  const DType dtype = compute_dtype(in.q.dtype());
  const Shape expected{args.heads, args.v.dim};
  FOVEA_CHECK(x.shape() == expected && x.dtype() == dtype, ShapeError,
              fmt::format("{}: {} is {} {}; expected {} {}", name, what, name_of(x.dtype()),
                          to_string(x.shape()), name_of(dtype), to_string(expected)));
}

Tensor LinearAttentionCall::run() const {
  relevance::refuse(name);
  std::vector<Tensor> all;
  for (const HeadView& view : views) all.push_back(view.x);
  const std::vector<Tensor> viewed = views::distinct(all);
  FOVEA_CHECK(views::disjoint(viewed, views), ShapeError,
              fmt::format("{}: heads share channels", name));
  LinearAttentionArgs call = args;
  call.add = !views::cover(viewed, views);
  const int first = static_cast<int>(viewed.size());  // of the parameters
  std::vector<Tensor> inputs = viewed;
  inputs.insert(inputs.end(), {in.lambda, in.weight, in.beta, in.gamma});
  autograd::Op op(name, inputs);
  const DType dtype = compute_dtype(in.q.dtype());
  const auto sums_of = [&](const Shape& shape) {
    return Tensor::empty(shape, dtype, in.q.device());
  };
  const std::int64_t depth = (args.two_maps() ? 2 : 1) * args.q.dim;
  const Tensor out = Tensor::empty({args.batch, args.queries, args.heads * args.v.dim},
                                   in.q.dtype(), in.q.device());
  const LinearAttentionSums sums{
      sums_of({args.batch, args.heads, depth, args.v.dim}),
      sums_of({args.batch, args.heads, depth}),
      args.magnitude.on ? sums_of({args.batch, args.heads, args.v.dim}) : Tensor()};
  backend(in.q).linear_attention(call, in, out, sums);
  for (const Tensor& input : inputs) op.keep(input);
  for (const Tensor& constant : {in.mask, in.cos, in.sin}) op.keep(constant);
  // For each map: S, and the products of the queries with S and with s.
  const std::int64_t macs =
      args.batch * args.heads * depth * (args.keys * args.v.dim + args.queries * (args.v.dim + 1));
  op.macs(macs, 2 * macs);
  return op.output(out, [=, in = this->in](const Tensor& dout, autograd::Gradients& to) {
    views::ViewGradients gradients(viewed, call.add, to);
    const auto of_view = [&](const Tensor& x) {
      return x.defined() ? gradients.gradient_of(x) : Tensor();
    };
    Tensor dlambda = to.empty(first);
    Tensor dweight = to.empty(first + 1);
    Tensor dbeta = to.empty(first + 2);
    Tensor dgamma = to.empty(first + 3);
    backend(dout).linear_attention_backward(call, in, {.sums = sums, .dout = dout},
                                            {.q = gradients.gradient_of(in.q),
                                             .k = gradients.gradient_of(in.k),
                                             .v = gradients.gradient_of(in.v),
                                             .lambda = dlambda,
                                             .weight = dweight,
                                             .gate = of_view(in.gate),
                                             .residual = of_view(in.residual),
                                             .beta = dbeta,
                                             .gamma = dgamma});
    gradients.hand_over();
    to.add(first, std::move(dlambda));
    to.add(first + 1, std::move(dweight));
    to.add(first + 2, std::move(dbeta));
    to.add(first + 3, std::move(dgamma));
  });
}

Similarities similarities(const HeadView& q, const HeadView& k, const LinearAttentionOptions& o,
                          std::int64_t first, std::int64_t count) {
  const std::int64_t n = q.x.size(1);
  const std::int64_t keys = k.x.size(1);
  const auto num_heads = static_cast<std::int64_t>(q.offsets.size());
  const bool part = first != 0 || (count >= 0 && count != n);
  FOVEA_CHECK(!o.causal || !part, ShapeError,
              "linear_attention_map: a part of a causal map was asked for; expected all of it");
  const std::int64_t rows = count < 0 ? n - first : count;
  HeadView wanted = q;
  wanted.x = slice(q.x, 1, first, rows);
  const DType dtype = compute_dtype(q.x.dtype());
  const auto features_of = [&](const HeadView& view) {
    return features(o.feature_map, cast(merge_heads(take_heads(view)), dtype));
  };
  const auto in_heads = [&](const Tensor& x) {
    return take_heads(heads(x, num_heads, q.dim, 0, q.dim));
  };
  const Tensor queries = features_of(wanted);
  const Tensor all = features_of(k);
  // Which keys a query sees: (b or 1, 1, count or 1, keys).
  Tensor seen = ones({1, 1, 1, keys}, dtype, q.x.device());
  if (o.key_mask.defined())
    seen = cast(reshape(o.key_mask, {o.key_mask.size(0), 1, 1, keys}), dtype);
  if (o.causal) {
    std::vector<double> triangle(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) triangle[static_cast<std::size_t>(i * n + j)] = 1;
    seen = from_doubles(triangle, {1, 1, n, n}, dtype, q.x.device());
  }
  const Tensor plain = mul(matmul(in_heads(queries), in_heads(all), false, true), seen);
  Similarities result{plain, sum(plain, {3}, true), sum(seen, {3}, true)};
  if (!o.rotary.cos.defined()) return result;
  const RotaryTables turned{o.rotary.cos.rows(first, first + rows),
                            o.rotary.sin.rows(first, first + rows)};
  result.products =
      mul(matmul(in_heads(rotate(queries, turned)), in_heads(rotate(all, o.rotary)), false, true),
          seen);
  return result;
}

}  // namespace fovea::ops
