#include "ops/relevance.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "autograd/hooks.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::ops::relevance {
namespace {

using autograd::Rule;
using autograd::with_scaled_gradient;

HeadView scaled(const HeadView& view, double factor) {
  return {with_scaled_gradient(view.x, factor), view.offsets, view.dim};
}

}  // namespace

double share_of_product(const Tensor& a, const Tensor& b) {
  return applies() && a.requires_grad() && b.requires_grad() ? 0.5 : 1;
}

Tensor by_ratio(const char* name, const Tensor& x, const Tensor& y) {
  constexpr double kNearZero = 1e-10;
  autograd::Op op(name, {x});
  const Tensor ratio = op.records() ? div(y, add(x.detach(), kNearZero)) : Tensor();
  return op.output(
      y, [ratio](const Tensor& dy, autograd::Gradients& in) { in.add(0, mul(dy, ratio)); });
}

Tensor through_norm(const Tensor& dy, const Tensor& weight, const Tensor& rstd, bool centred) {
  Shape rows = rstd.shape();
  rows.push_back(1);
  Tensor g = cast(dy, rstd.dtype());
  if (weight.defined()) g = mul(g, cast(weight, rstd.dtype()));
  g = mul(g, reshape(rstd, rows));
  if (centred) g = sub(g, mean(g, {-1}, true));
  return cast(g, dy.dtype());
}

Attended attended(const HeadView& q, const HeadView& k, const HeadView& v, bool gated) {
  switch (autograd::mode().rule) {
    case Rule::kGradient:
      break;
    case Rule::kAttnLrp: {
      const double share = gated ? 0.125 : 0.25;
      return {scaled(q, share), scaled(k, share), scaled(v, 0.5)};
    }
    case Rule::kCpLrp:
      return {scaled(q, 0), scaled(k, 0), v};
  }
  return {q, k, v};
}

Tensor coefficient(const Tensor& c) {
  switch (autograd::mode().rule) {
    case Rule::kGradient:
      break;
    case Rule::kAttnLrp:
      return with_scaled_gradient(c, 0.25);
    case Rule::kCpLrp:
      return c.detach();
  }
  return c;
}

void refuse(const char* op) {
  FOVEA_CHECK(!applies(), ConfigError,
              fmt::format("attn_lrp: has no rule for {}; expected a network of softmax, "
                          "differential or m_dgsa attention, or of convolutions",
                          op));
}

}  // namespace fovea::ops::relevance
