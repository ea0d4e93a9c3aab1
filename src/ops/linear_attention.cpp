#include "ops/linear_attention.h"

#include <fmt/format.h>

#include <limits>

#include "ops/elementwise.h"
#include "ops/head_views.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

LinearAttentionArgs checked(const char* op, const HeadView& q, const HeadView& k, const HeadView& v,
                            const LinearAttentionOptions& options) {
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
  LinearAttentionArgs args;
  args.batch = q.x.size(0);
  args.heads = static_cast<std::int64_t>(q.offsets.size());
  args.queries = q.x.size(1);
  args.keys = k.x.size(1);
  args.q = views::layout_of(q);
  args.k = views::layout_of(k);
  args.v = views::layout_of(v);
  args.feature_map = options.feature_map;
  args.eps = options.eps;
  return args;
}

void add_finish(const char* op, const HeadFinish& finish, LinearAttentionArgs& args,
                LinearAttentionInputs& in) {
  const DType dtype = compute_dtype(in.q.dtype());
  in.weight = finish.weight;
  args.norm_eps = finish.norm_eps;
  FOVEA_CHECK(!in.weight.defined() ||
                  (in.weight.shape() == Shape{args.v.dim} && in.weight.dtype() == dtype),
              ShapeError,
              fmt::format("{}: weight is {}; expected {} ({})", op,
                          in.weight.defined() ? to_string(in.weight.shape()) : "none",
                          name_of(dtype), args.v.dim));
  const HeadView& gate = finish.gate;
  if (!gate.x.defined()) return;
  views::check_view(op, "gate", gate);
  FOVEA_CHECK(std::ssize(gate.offsets) == args.heads && gate.dim == args.v.dim &&
                  gate.x.size(0) == args.batch && gate.x.size(1) == args.queries,
              ShapeError,
              fmt::format("{}: gate is {} with {} heads of {}; expected ({}, {}, width) with {} "
                          "of {}",
                          op, to_string(gate.x.shape()), gate.offsets.size(), gate.dim, args.batch,
                          args.queries, args.heads, args.v.dim));
  in.gate = gate.x;
  args.gate = views::layout_of(gate);
  args.gate_op = finish.gate_op;
}

// `all`: every view there is.
Tensor run(const char* name, LinearAttentionArgs args, const LinearAttentionInputs& given,
           std::initializer_list<HeadView> all) {
  std::vector<Tensor> viewed = views::distinct({given.q, given.k, given.v});
  if (given.gate.defined()) viewed = views::distinct({given.q, given.k, given.v, given.gate});
  FOVEA_CHECK(views::disjoint(viewed, all), ShapeError,
              fmt::format("{}: heads share channels", name));
  args.add = !views::cover(viewed, all);
  const int lambda = static_cast<int>(viewed.size());
  std::vector<Tensor> inputs = viewed;
  inputs.insert(inputs.end(), {given.lambda, given.weight});
  autograd::Op op(name, inputs);
  const Tensor out = Tensor::empty({args.batch, args.queries, args.heads * args.v.dim},
                                   given.q.dtype(), given.q.device());
  backend(given.q).linear_attention(args, given, out);
  for (const Tensor& input : inputs) op.keep(input);
  // Of each map: S, and the products of the queries with S and with s.
  const std::int64_t maps = (args.two_maps() ? 2 : 1) * args.batch * args.heads;
  op.macs(maps * args.q.dim * (args.keys * args.v.dim + args.queries * (args.v.dim + 1)));
  return op.output(out, [=](const Tensor& dout, autograd::Gradients& in) {
    views::ViewGradients gradients(viewed, args.add, in);
    Tensor dlambda = in.empty(lambda);
    Tensor dweight = in.empty(lambda + 1);
    backend(dout).linear_attention_backward(
        args, given, dout,
        {.q = gradients.of(given.q),
         .k = gradients.of(given.k),
         .v = gradients.of(given.v),
         .lambda = dlambda,
         .weight = dweight,
         .gate = given.gate.defined() ? gradients.of(given.gate) : Tensor()});
    gradients.hand_over();
    in.add(lambda, std::move(dlambda));
    in.add(lambda + 1, std::move(dweight));
  });
}

}  // namespace

Tensor elu_plus_one(const Tensor& x) {
  // exp(x) itself below 0: elu(x) + 1 would round small values away.
  return add(relu(x), exp(clamp(x, -std::numeric_limits<double>::infinity(), 0)));
}

Tensor linear_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                        const LinearAttentionOptions& options, const HeadFinish& finish) {
  const char* name = "linear_attention";
  LinearAttentionArgs args = checked(name, q, k, v, options);
  LinearAttentionInputs in{.q = q.x, .k = k.x, .v = v.x};
  add_finish(name, finish, args, in);
  return run(name, args, in, {q, k, v, finish.gate});
}

Tensor two_map_linear_attention(const HeadView& q1, const HeadView& k1, const HeadView& q2,
                                const HeadView& k2, const HeadView& v, const Tensor& lambda,
                                const LinearAttentionOptions& options, const HeadFinish& finish) {
  const char* name = "two_map_linear_attention";
  LinearAttentionArgs args = checked(name, q1, k1, v, options);
  checked(name, q2, k2, v, options);
  FOVEA_CHECK(q1.x.id() == q2.x.id() && k1.x.id() == k2.x.id() && q1.dim == q2.dim, ShapeError,
              fmt::format("{}: the two streams must lie in one query and one key tensor", name));
  const Shape expected{args.heads, v.dim};
  FOVEA_CHECK(lambda.shape() == expected && lambda.dtype() == compute_dtype(q1.x.dtype()),
              ShapeError,
              fmt::format("{}: lambda is {} {}; expected {} {}", name, name_of(lambda.dtype()),
                          to_string(lambda.shape()), name_of(compute_dtype(q1.x.dtype())),
                          to_string(expected)));
  args.q2 = views::layout_of(q2);
  args.k2 = views::layout_of(k2);
  LinearAttentionInputs in{.q = q1.x, .k = k1.x, .v = v.x, .lambda = lambda};
  add_finish(name, finish, args, in);
  return run(name, args, in, {q1, k1, q2, k2, v, finish.gate});
}

Tensor linear_attention_map(const HeadView& q, const HeadView& k,
                            const LinearAttentionOptions& options, std::int64_t first,
                            std::int64_t count) {
  const auto features = [&](const Tensor& x) {
    return options.feature_map == FeatureMap::kNone ? x : elu_plus_one(x);
  };
  HeadView rows = q;
  rows.x = slice(q.x, 1, first, count < 0 ? q.x.size(1) - first : count);
  const Tensor queries = features(take_heads(rows));
  const Tensor keys = features(take_heads(k));
  const Tensor z = matmul(queries, sum(keys, {2}, true), false, true);  // (b, heads, count, 1)
  return div(matmul(queries, keys, false, true), add(z, options.eps));
}

}  // namespace fovea::ops
