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

Tensor run(const char* name, const LinearAttentionArgs& args, const LinearAttentionInputs& given,
           bool disjoint) {
  FOVEA_CHECK(disjoint, ShapeError, fmt::format("{}: heads share channels", name));
  const std::vector<Tensor> viewed = views::distinct({given.q, given.k, given.v});
  const int lambda = static_cast<int>(viewed.size());
  std::vector<Tensor> inputs = viewed;
  inputs.push_back(given.lambda);
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
    backend(dout).linear_attention_backward(args, given, dout,
                                            {.q = gradients.of(given.q),
                                             .k = gradients.of(given.k),
                                             .v = gradients.of(given.v),
                                             .lambda = dlambda});
    gradients.hand_over();
    in.add(lambda, std::move(dlambda));
  });
}

}  // namespace

Tensor elu_plus_one(const Tensor& x) {
  // exp(x) itself below 0: elu(x) + 1 would round small values away.
  return add(relu(x), exp(clamp(x, -std::numeric_limits<double>::infinity(), 0)));
}

Tensor linear_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                        const LinearAttentionOptions& options) {
  LinearAttentionArgs args = checked("linear_attention", q, k, v, options);
  const std::vector<Tensor> viewed = views::distinct({q.x, k.x, v.x});
  args.add = !views::cover(viewed, {q, k, v});
  return run("linear_attention", args, {.q = q.x, .k = k.x, .v = v.x},
             views::disjoint(viewed, {q, k, v}));
}

Tensor two_map_linear_attention(const HeadView& q1, const HeadView& k1, const HeadView& q2,
                                const HeadView& k2, const HeadView& v, const Tensor& lambda,
                                const LinearAttentionOptions& options) {
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
  const std::vector<Tensor> viewed = views::distinct({q1.x, k1.x, v.x});
  args.add = !views::cover(viewed, {q1, k1, q2, k2, v});
  return run(name, args, {.q = q1.x, .k = k1.x, .v = v.x, .lambda = lambda},
             views::disjoint(viewed, {q1, k1, q2, k2, v}));
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
