#include "ops/attention/linear_attention.h"

#include <fmt/format.h>

#include <limits>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "base/error.h"
#include "ops/attention/linear_attention_call.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

void set_options(const LinearAttentionOptions& options, const HeadFinish& finish,
                 LinearAttentionCall& call) {
  call.args.feature_map = options.feature_map;
  call.args.eps = options.eps;
  call.seen(options.causal, options.key_mask, options.rotary);
  call.finish(finish);
}

}  // namespace

Tensor elu_plus_one(const Tensor& x) {
  // exp(x) itself below 0: elu(x) + 1 would lose the digits of small values.
  return add(relu(x), exp(clamp(x, -std::numeric_limits<double>::infinity(), 0)));
}

Tensor features(FeatureMap map, const Tensor& x) {
  switch (map) {
    case FeatureMap::kEluPlusOne:
      return elu_plus_one(x);
    case FeatureMap::kRelu:
      return relu(x);
    case FeatureMap::kExp:
      return exp(x);
    default:
      return x;
  }
}

Tensor rotate(const Tensor& x, const RotaryTables& tables) {
  const auto& [cos, sin] = tables;
  const bool fits = x.rank() == 3 && cos.defined() && cos.rank() == 2 &&
                    cos.shape() == sin.shape() && cos.size(0) == x.size(1) && cos.size(1) > 0 &&
                    x.size(2) % (2 * cos.size(1)) == 0 && cos.dtype() == compute_dtype(x.dtype()) &&
                    sin.dtype() == cos.dtype();
  FOVEA_CHECK(
      fits, ShapeError,
      fmt::format("rotate: x is {}, cos {}, sin {}; expected x (b, n, heads * dim), cos and "
                  "sin {} (n, dim / 2)",
                  to_string(x.shape()), cos.defined() ? to_string(cos.shape()) : "none",
                  sin.defined() ? to_string(sin.shape()) : "none",
                  name_of(compute_dtype(x.dtype()))));
  autograd::Op op("rotate", {x});
  const Tensor y = Tensor::empty_like(x);
  backend(x).rotate({.back = false, .x = x, .cos = cos, .sin = sin, .y = y});
  return op.output(
      y, [cos = op.keep(cos), sin = op.keep(sin)](const Tensor& dy, autograd::Gradients& in) {
        Tensor dx = in.empty(0);
        backend(dy).rotate({.back = true, .x = dy, .cos = cos, .sin = sin, .y = dx});
        in.add(0, std::move(dx));
      });
}

Tensor finished(const Tensor& result, const HeadFinish& finish) {
  const std::int64_t b = result.size(0), n = result.size(1);
  const auto together = [](const HeadView& view) { return merge_heads(take_heads(view)); };
  Tensor y = result;
  if (finish.weight.defined()) {
    const std::int64_t width = finish.weight.size(0);
    const Tensor heads = reshape(y, {b, n, -1, width});
    y = reshape(rms_norm(heads, finish.weight, finish.norm_eps), result.shape());
  }
  if (finish.residual.x.defined()) y = add(y, together(finish.residual));
  if (!finish.gate.x.defined()) return y;
  const Tensor gate = together(finish.gate);
  if (finish.gate_op == UnaryOp::kSilu) return mul(y, silu(gate));
  return mul(y, finish.gate_op == UnaryOp::kSigmoid ? sigmoid(gate) : gate);
}

Tensor linear_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                        const LinearAttentionOptions& options, const HeadFinish& finish) {
  LinearAttentionCall call("linear_attention", q, k, v);
  set_options(options, finish, call);
  return call.run();
}

Tensor two_map_linear_attention(const HeadView& q1, const HeadView& k1, const HeadView& q2,
                                const HeadView& k2, const HeadView& v, const Tensor& lambda,
                                const LinearAttentionOptions& options, const HeadFinish& finish) {
  const char* name = "two_map_linear_attention";
  LinearAttentionCall call(name, q1, k1, v);
  const LinearAttentionCall second(name, q2, k2, v);
  FOVEA_CHECK(q1.x.id() == q2.x.id() && k1.x.id() == k2.x.id() && q1.dim == q2.dim, ShapeError,
              fmt::format("{}: the two streams must lie in one query and one key tensor", name));
  FOVEA_CHECK(!options.causal && !options.rotary.cos.defined(), ShapeError,
              fmt::format("{}: causal or with rotary positions; expected neither", name));
  call.check_parameter("lambda", lambda);
  call.args.q2 = second.args.q;
  call.args.k2 = second.args.k;
  call.views.insert(call.views.end(), {q2, k2});
  call.in.lambda = lambda;
  set_options(options, finish, call);
  return call.run();
}

Tensor linear_attention_map(const HeadView& q, const HeadView& k,
                            const LinearAttentionOptions& options, std::int64_t first,
                            std::int64_t count) {
  const Similarities found = similarities(q, k, options, first, count);
  return div(found.products, add(found.sums, options.eps));
}

}  // namespace fovea::ops
