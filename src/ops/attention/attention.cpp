#include "ops/attention/attention.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/attention/head_views.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/relevance.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;
using views::check_view;
using views::check_views;
using views::cover;
using views::distinct;
using views::layout_of;
using views::ViewGradients;

AttentionArgs check(const char* op, const HeadView& q, const HeadView& k, const HeadView& v,
                    const AttentionOptions& options) {
  check_views(op, q, k, v);
  if (options.key_mask.defined()) {
    const Shape expected{k.x.size(0), k.x.size(1)};
    FOVEA_CHECK(options.key_mask.shape() == expected && options.key_mask.dtype() == DType::kUint8,
                ShapeError,
                fmt::format("{}: key_mask is {} {}; expected uint8 {}", op,
                            name_of(options.key_mask.dtype()), to_string(options.key_mask.shape()),
                            to_string(expected)));
  }
  AttentionArgs args;
  args.batch = q.x.size(0);
  args.heads = static_cast<std::int64_t>(q.offsets.size());
  args.queries = q.x.size(1);
  args.keys = k.x.size(1);
  args.q = layout_of(q);
  args.k = layout_of(k);
  args.v = layout_of(v);
  args.scale = options.scale;
  args.causal = options.causal;
  return args;
}

}  // namespace

HeadView heads(const Tensor& x, std::int64_t num_heads, std::int64_t dim, std::int64_t first,
               std::int64_t step) {
  HeadView view{x, {}, dim};
  for (std::int64_t head = 0; head < num_heads; ++head) view.offsets.push_back(first + head * step);
  return view;
}

Tensor attention(const HeadView& queries, const HeadView& keys, const HeadView& values,
                 const AttentionOptions& options) {
  const auto [q, k, v] = relevance::attended(queries, keys, values);
  AttentionArgs args = check("attention", q, k, v, options);
  const std::vector<Tensor> inputs = distinct({q.x, k.x, v.x});
  args.add = !cover(inputs, {q, k, v});
  Op op("attention", inputs);
  Tensor out =
      Tensor::empty({args.batch, args.queries, args.heads * v.dim}, q.x.dtype(), q.x.device());
  const Tensor lse = Tensor::empty({args.batch, args.heads, args.queries},
                                   compute_dtype(q.x.dtype()), q.x.device());
  const AttentionInputs given{.q = q.x, .k = k.x, .v = v.x, .mask = options.key_mask};
  backend(q.x).attention(args, given, {.out = out, .lse = lse});
  for (const Tensor& input : inputs) op.keep(input);
  op.keep(given.mask);
  const Tensor result = op.keep_result(out);
  const std::int64_t scores = args.batch * args.heads * args.queries * args.keys;
  // Backward has a product for each gradient, and scores again, which are not kept.
  op.macs(scores * (q.dim + v.dim), scores * (3 * q.dim + 2 * v.dim));
  return op.output(out, [=](const Tensor& dout, Gradients& in) {
    ViewGradients gradients(inputs, args.add, in);
    backend(dout).attention_backward(args, given, {.lse = lse, .dout = dout, .map_results = result},
                                     {.q = gradients.gradient_of(given.q),
                                      .k = gradients.gradient_of(given.k),
                                      .v = gradients.gradient_of(given.v)});
    gradients.hand_over();
  });
}

Tensor two_map_attention(const HeadView& queries1, const HeadView& keys1, const HeadView& queries2,
                         const HeadView& keys2, const HeadView& values, const Tensor& first,
                         const Tensor& second, const AttentionOptions& options) {
  FOVEA_CHECK(queries1.x.id() == queries2.x.id() && keys1.x.id() == keys2.x.id() &&
                  queries1.dim == queries2.dim,
              ShapeError,
              "two_map_attention: the two streams must lie in one query and one key tensor");
  const bool gated = first.requires_grad() || second.requires_grad();
  const auto [q1, k1, v] = relevance::attended(queries1, keys1, values, gated);
  const HeadView q2{q1.x, queries2.offsets, queries2.dim};
  const HeadView k2{k1.x, keys2.offsets, keys2.dim};
  const Tensor c1 = relevance::coefficient(as_activation(first, q1.x));
  const Tensor c2 = relevance::coefficient(as_activation(second, q1.x));
  AttentionArgs args = check("two_map_attention", q1, k1, v, options);
  check("two_map_attention", q2, k2, v, options);
  args.q2 = layout_of(q2);
  args.k2 = layout_of(k2);
  const Shape expected{args.batch, args.queries, args.heads};
  FOVEA_CHECK(c1.shape() == expected && c2.shape() == expected, ShapeError,
              fmt::format("two_map_attention: coefficients are {} and {}; expected {}",
                          to_string(c1.shape()), to_string(c2.shape()), to_string(expected)));
  std::vector<Tensor> inputs = distinct({q1.x, k1.x, v.x});
  const int views = static_cast<int>(inputs.size());
  args.add = !cover(inputs, {q1, k1, q2, k2, v});
  inputs.push_back(c1);
  inputs.push_back(c2);
  Op op("two_map_attention", inputs);
  Tensor out =
      Tensor::empty({args.batch, args.queries, args.heads * v.dim}, q1.x.dtype(), q1.x.device());
  const Tensor lse = Tensor::empty({2, args.batch, args.heads, args.queries},
                                   compute_dtype(q1.x.dtype()), q1.x.device());
  const AttentionInputs given{
      .q = q1.x, .k = k1.x, .v = v.x, .mask = options.key_mask, .c1 = c1, .c2 = c2};
  const Tensor map_results = op.records() && backend(out).keeps_map_results(args)
                                 ? Tensor::empty({2, out.numel()}, out.dtype(), out.device())
                                 : Tensor();
  backend(out).attention(args, given, {.out = out, .lse = lse, .map_results = map_results});
  for (const Tensor& input : inputs) op.keep(input);
  op.keep(given.mask);
  const std::int64_t scores = args.batch * args.heads * args.queries * args.keys;
  op.macs(scores * (2 * q1.dim + v.dim), scores * 2 * (3 * q1.dim + v.dim));
  return op.output(out, [=](const Tensor& dout, Gradients& in) {
    const std::vector<Tensor> viewed(inputs.begin(), inputs.begin() + views);
    ViewGradients gradients(viewed, args.add, in);
    Tensor dc1 = in.wanted(views) ? Tensor::empty_like(c1) : Tensor();
    Tensor dc2 = in.wanted(views + 1) ? Tensor::empty_like(c2) : Tensor();
    backend(dout).attention_backward(args, given,
                                     {.lse = lse, .dout = dout, .map_results = map_results},
                                     {.q = gradients.gradient_of(given.q),
                                      .k = gradients.gradient_of(given.k),
                                      .v = gradients.gradient_of(given.v),
                                      .c1 = dc1,
                                      .c2 = dc2});
    gradients.hand_over();
    if (dc1.defined()) in.add(views, std::move(dc1));
    if (dc2.defined()) in.add(views + 1, std::move(dc2));
  });
}

Tensor take_heads(const HeadView& view) {
  check_view("take_heads", "x", view);
  std::vector<Tensor> parts;
  for (const std::int64_t offset : view.offsets) {
    const Tensor head = slice(view.x, -1, offset, view.dim);
    parts.push_back(reshape(head, {head.size(0), 1, head.size(1), view.dim}));
  }
  return concat(parts, 1);
}

Tensor merge_heads(const Tensor& x) {
  FOVEA_CHECK(
      x.rank() == 4, ShapeError,
      fmt::format("merge_heads: x is {}; expected (b, heads, n, dim)", to_string(x.shape())));
  return reshape(permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), -1});
}

Tensor attention_map(const HeadView& q, const HeadView& k, const AttentionOptions& options,
                     std::int64_t first, std::int64_t count) {
  const std::int64_t n = q.x.size(1);
  const std::int64_t rows = count < 0 ? n - first : count;
  FOVEA_CHECK(!options.causal || rows == n, ShapeError,
              fmt::format("attention_map: {} of {} rows of a causal map; expected all", rows, n));
  HeadView queries = q;
  if (rows < n) queries.x = slice(q.x, 1, first, rows);
  const Tensor scores = matmul(take_heads(queries), take_heads(k), false, true);
  return softmax(mul(scores, options.scale), options.key_mask, options.causal);
}

}  // namespace fovea::ops
