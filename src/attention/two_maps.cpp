#include "attention/two_maps.h"

#include <cmath>

#include "autograd/mode.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace fovea::attention {
namespace {

// (b, n, heads) -> (b, heads, n, 1)
Tensor per_row(const Tensor& c) {
  return ops::reshape(ops::transpose(c, 1, 2), {c.size(0), c.size(2), c.size(1), 1});
}

}  // namespace

double lambda_schedule(std::int64_t layer) {
  return 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(layer - 1));
}

Tensor fused_map(const Tensor& map1, const Tensor& map2, const Tensor& c1, const Tensor& c2) {
  return ops::add(ops::mul(per_row(c1), map1), ops::mul(per_row(c2), map2));
}

void record_maps(const Context& context, const TwoMaps& m, const Tensor& c1, const Tensor& c2,
                 const char* name1, const char* name2) {
  const auto [first, count] = context.wanted_rows();
  if (count == 0) return;
  const autograd::NoGrad no_grad;
  const Tensor map1 = ops::attention_map(m.q1, m.k1, m.options, first, count);
  const Tensor map2 = ops::attention_map(m.q2, m.k2, m.options, first, count);
  const auto rows = [&](const Tensor& c) { return ops::slice(c, 1, first, map1.size(2)); };
  context.probe->record(name1, map1);
  context.probe->record(name2, map2);
  const Tensor positive = ops::mul(per_row(rows(c1)), map1);
  const Tensor negative = ops::mul(per_row(ops::neg(rows(c2))), map2);
  record_difference(*context.probe, positive, negative);
}

void record_difference(Probe& probe, const Tensor& positive, const Tensor& negative) {
  probe.record("attn_positive", positive);
  probe.record("attn_negative", negative);
  probe.record_signed(ops::sub(positive, negative));
}

Tensor apply_two_maps(const TwoMaps& m, const Tensor& c1, const Tensor& c2, nn::Dropout* drop) {
  if (drop == nullptr || !drop->training()) {
    return ops::two_map_attention(m.q1, m.k1, m.q2, m.k2, m.v, c1, c2, m.options);
  }
  const Tensor map = fused_map(ops::attention_map(m.q1, m.k1, m.options),
                               ops::attention_map(m.q2, m.k2, m.options), c1, c2);
  return ops::merge_heads(ops::matmul((*drop)(map), ops::take_heads(m.v)));
}

}  // namespace fovea::attention
