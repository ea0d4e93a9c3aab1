#include "ops/attention/magnitude_attention.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/attention/linear_attention_call.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

const char* const kName = "magnitude_attention";

double scale_of(const MagnitudeOptions& o, std::int64_t head_dim) {
  return o.scale == SimilarityScale::kNone ? 1 : 1 / std::sqrt(static_cast<double>(head_dim));
}

MagnitudeArgs args_of(const MagnitudeOptions& o, std::int64_t head_dim) {
  return {.on = true,
          .scale = scale_of(o, head_dim),
          .over_keys = o.scale == SimilarityScale::kHeadDimMean,
          .beta = o.beta == Coefficient::kFormula,
          .gamma = o.gamma == Coefficient::kFormula};
}

// Features with their positions, as a view of their own.
HeadView turned_features(const MagnitudeOptions& o, const HeadView& view) {
  const Tensor x = rotate(features(o.feature_map, merge_heads(take_heads(view))), o.rotary);
  return heads(x, static_cast<std::int64_t>(view.offsets.size()), view.dim, 0, view.dim);
}

bool sums_are_rotated(const MagnitudeOptions& o) {
  return o.normaliser == Normaliser::kRotated && o.rotary.cos.defined();
}

// A given coefficient as the factor of a head's rows in the map: its mean over channels.
Tensor over_channels(const Tensor& given) {
  return reshape(mean(given, {1}), {1, given.size(0), 1, 1});
}

}  // namespace

Tensor magnitude_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                           const MagnitudeOptions& o, const HeadFinish& finish) {
  if (sums_are_rotated(o)) {
    MagnitudeOptions plain = o;
    plain.feature_map = FeatureMap::kNone;
    plain.rotary = {};
    return magnitude_attention(turned_features(o, q), turned_features(o, k), v, plain, finish);
  }
  LinearAttentionCall call(kName, q, k, v);
  call.args.feature_map = o.feature_map;
  call.args.eps = o.eps;
  call.args.magnitude = args_of(o, q.dim);
  call.args.magnitude.sums_at_least_eps = o.normaliser == Normaliser::kRotated;
  call.seen(o.causal, o.key_mask, o.rotary);
  const auto given = [&](const char* what, Coefficient coefficient, const Tensor& x, Tensor& to) {
    if (coefficient != Coefficient::kGiven) return;
    FOVEA_CHECK(!o.causal, ShapeError,
                fmt::format("{}: {} is given; causal attention has it by formula, or not at all",
                            kName, what));
    call.check_parameter(what, x);
    to = x;
  };
  given("beta", o.beta, o.given_beta, call.in.beta);
  given("gamma", o.gamma, o.given_gamma, call.in.gamma);
  call.finish(finish);
  return call.run();
}

MagnitudeMap magnitude_map(const HeadView& q, const HeadView& k, const MagnitudeOptions& o,
                           std::int64_t first, std::int64_t count) {
  const LinearAttentionOptions seen{
      .feature_map = o.feature_map, .causal = o.causal, .key_mask = o.key_mask, .rotary = o.rotary};
  const auto [products, sums, counts] = similarities(q, k, seen, first, count);
  Tensor c = full({1, 1, 1, 1}, scale_of(o, q.dim), products.dtype(), products.device());
  const Tensor keys = maximum(counts, ones_like(c));
  if (o.scale == SimilarityScale::kHeadDimMean) c = div(c, keys);
  const Tensor similarity = mul(products, c);
  MagnitudeMap map;
  map.z = mul(sums, c);
  if (o.normaliser == Normaliser::kRotated) {
    const Tensor turned = sums_are_rotated(o) ? sum(similarity, {3}, true) : map.z;
    map.z = clamp(turned, o.eps, std::numeric_limits<double>::infinity());
  }
  const Tensor none = mul(map.z, 0);
  map.beta = add(none, 1);
  map.gamma = none;
  if (o.beta == Coefficient::kFormula) map.beta = add(reciprocal(add(map.z, o.eps)), 1);
  if (o.gamma == Coefficient::kFormula) map.gamma = div(map.z, keys);
  if (o.beta == Coefficient::kGiven) map.beta = add(none, over_channels(o.given_beta));
  if (o.gamma == Coefficient::kGiven) map.gamma = add(none, over_channels(o.given_gamma));
  map.scores = sub(mul(similarity, map.beta), map.gamma);
  // Keys that are not seen have no weight, and masked tokens see no key.
  if (o.causal) {
    const Tensor all = ones({1, 1, 1, keys.size(2)}, products.dtype(), products.device());
    const Tensor rows = add(counts, -1);
    const Tensor columns = reshape(transpose(rows, 2, 3), {1, 1, 1, keys.size(2)});
    const Tensor behind = cast(greater(columns, rows), products.dtype());
    map.scores = mul(map.scores, sub(all, behind));
  }
  if (o.key_mask.defined()) {
    const std::int64_t b = o.key_mask.size(0);
    const std::int64_t n = o.key_mask.size(1);
    const Tensor valid = cast(o.key_mask, products.dtype());
    map.scores = mul(map.scores, reshape(valid, {b, 1, 1, n}));
    if (q.x.size(1) == n)
      map.scores = mul(
          map.scores, slice(reshape(valid, {b, 1, n, 1}), 2, first, count < 0 ? n - first : count));
  }
  return map;
}

}  // namespace fovea::ops
