#include "attention/linear_forms.h"

#include <cmath>
#include <numbers>

#include "attention/qkv_attention.h"
#include "ops/attention/magnitude_attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::attention {
namespace {

// Rows of one view: (b, heads, count, dim).
Tensor rows_of(const ops::HeadView& view, Probe::Rows rows) {
  ops::HeadView part = view;
  part.x =
      ops::slice(view.x, 1, rows.first, rows.count < 0 ? view.x.size(1) - rows.first : rows.count);
  return ops::take_heads(part);
}

// Similarities less the mean of their row.
ops::MagnitudeOptions centred() {
  return {.feature_map = FeatureMap::kNone, .beta = ops::Coefficient::kNone};
}

double per_root(std::int64_t dim) { return 1 / std::sqrt(static_cast<double>(dim)); }

}  // namespace

Tensor masked_tokens(const Tensor& x, const Tensor& key_mask) {
  if (!key_mask.defined()) return x;
  const Tensor factor = ops::cast(ops::cast(key_mask, compute_dtype(x.dtype())), x.dtype());
  return ops::mul(x, ops::reshape(factor, {x.size(0), x.size(1), 1}));
}

Tensor unit_vectors(const Tensor& x, std::int64_t width) {
  const Tensor weight = ops::full({width}, per_root(width), compute_dtype(x.dtype()), x.device());
  const Tensor runs = ops::reshape(x, {x.numel() / width, width});
  // The norm's epsilon is added to a mean.
  return ops::reshape(ops::rms_norm(runs, weight, 1e-24 / static_cast<double>(width)), x.shape());
}

Tensor efficient_queries(const Tensor& q, std::int64_t head_dim) {
  return ops::reshape(ops::softmax(ops::reshape(q, {q.numel() / head_dim, head_dim})), q.shape());
}

Tensor efficient_keys(const Tensor& k, const Tensor& key_mask) {
  return ops::transpose(ops::softmax(ops::transpose(k, 1, 2), key_mask), 1, 2);
}

Tensor hydra_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const std::int64_t dim = q.size(-1);
  const Tensor sum = ops::sum(ops::mul(unit_vectors(k, dim), v), {1}, true);  // (b, 1, dim)
  return ops::mul(unit_vectors(q, dim), sum);
}

Tensor angular_attention(const ops::HeadView& q, const ops::HeadView& k, const ops::HeadView& v,
                         const Tensor& sparse) {
  const Tensor queries = unit_vectors(ops::take_heads(q), q.dim);
  const Tensor keys = unit_vectors(ops::take_heads(k), k.dim);
  const Tensor values = ops::take_heads(v);
  // 0.5 v is not divided by the number of tokens, as in the public code.
  const Tensor product = ops::mul(ops::matmul(keys, values, true), std::numbers::inv_pi);
  Tensor y = ops::add(ops::matmul(queries, product), ops::mul(values, 0.5));
  if (sparse.defined()) y = ops::add(y, ops::matmul(sparse, values));
  return ops::merge_heads(unit_vectors(y, v.dim));
}

Tensor sparse_map(const ops::HeadView& q, const ops::HeadView& k, const Tensor& key_mask,
                  Probe::Rows rows) {
  const Tensor map =
      ops::attention_map(q, k, {per_root(q.dim), false, key_mask}, rows.first, rows.count);
  const auto constant = [&](double value) {
    return ops::full({}, value, map.dtype(), map.device());
  };
  return ops::where(ops::greater(map, constant(0.02)), map, constant(0));
}

Tensor angular_map(const ops::HeadView& q, const ops::HeadView& k, Probe::Rows rows) {
  const Tensor queries = unit_vectors(rows_of(q, rows), q.dim);
  const Tensor keys = unit_vectors(ops::take_heads(k), k.dim);
  const std::int64_t count = queries.size(2);
  const std::int64_t n = keys.size(2);
  std::vector<double> half(static_cast<std::size_t>(count * n));
  for (std::int64_t i = 0; i < count; ++i)
    half[static_cast<std::size_t>(i * n + rows.first + i)] = 0.5;
  const Tensor diagonal = from_doubles(half, {count, n}, q.x.dtype(), q.x.device());
  return ops::add(ops::mul(ops::matmul(queries, keys, false, true), std::numbers::inv_pi),
                  diagonal);
}

// A is MALA's map without beta, whose rows sum to 0, plus 1/n.
Tensor inline_attention(const ops::HeadView& q, const ops::HeadView& k, const ops::HeadView& v) {
  return ops::add(ops::magnitude_attention(q, k, v, centred()), ops::mean(tokens_of(v), {1}, true));
}

Tensor inline_map(const ops::HeadView& q, const ops::HeadView& k, Probe::Rows rows) {
  const Tensor map = ops::magnitude_map(q, k, centred(), rows.first, rows.count).scores;
  return ops::add(map, 1 / static_cast<double>(map.size(3)));
}

Tensor focused(const Tensor& x, const Tensor& scale, double factor) {
  const std::int64_t width = x.size(-1);
  const Tensor t = ops::mul(ops::add(ops::relu(x), 1e-6), ops::reciprocal(scale));
  const Tensor length = ops::sqrt(ops::sum(ops::square(t), {-1}, true));
  // Entries are scaled to about 1, since cubes of small ones would vanish; the length is restored
  // in the end.
  const Tensor even = ops::rms_norm(t, {}, 0);
  const Tensor power = factor == 3 ? ops::mul(ops::square(even), even) : ops::pow(even, factor);
  return ops::mul(unit_vectors(power, width), length);
}

}  // namespace fovea::attention
