#include "ops/attention/recurrent_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/attention/head_views.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {
namespace {

// Tokens that are taken at once: their scores are a matrix of this side.
constexpr std::int64_t kChunk = 64;

// The heads of some tokens, (b, heads, n, dim) in the compute type.
Tensor heads_of(const HeadView& view, std::int64_t first, std::int64_t n) {
  HeadView part = view;
  if (n < view.x.size(1)) part.x = slice(view.x, 1, first, n);
  return cast(take_heads(part), compute_dtype(view.x.dtype()));
}

Tensor turned(const Tensor& x, const RotaryTables& tables) {
  if (!tables.cos.defined()) return x;
  const Tensor rows = rotate(merge_heads(x), tables);
  return take_heads(heads(rows, x.size(1), x.size(3), 0, x.size(3)));
}

RotaryTables rows_of(const RotaryTables& tables, std::int64_t first, std::int64_t n) {
  if (!tables.cos.defined()) return {};
  return {tables.cos.rows(first, first + n), tables.sin.rows(first, first + n)};
}

// (1, 1, n, 1): f(how many keys each of the tokens sees).
template <class F>
Tensor column(std::int64_t before, std::int64_t n, const Tensor& like, const F& f) {
  std::vector<double> values;
  for (std::int64_t i = 1; i <= n; ++i) values.push_back(f(static_cast<double>(before + i)));
  return from_doubles(values, {1, 1, n, 1}, like.dtype(), like.device());
}

// (n, n): 1 where key j <= query i.
Tensor seen_keys(std::int64_t n, const Tensor& like) {
  std::vector<double> values(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i)
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(i * n), i + 1, 1.0);
  return from_doubles(values, {n, n}, like.dtype(), like.device());
}

// One chunk: features, with their positions in products (`turned_*`) and as the sums z see them.
struct Chunk {
  Tensor q, k, turned_q, turned_k, v;
  Tensor seen;  // seen_keys()
};

void begin(const Chunk& c, bool values, LinearAttentionSums& sums) {
  const std::int64_t b = c.q.size(0), h = c.q.size(1), d = c.q.size(3), e = c.v.size(3);
  const auto none = [&](const Shape& shape) { return zeros(shape, c.q.dtype(), c.q.device()); };
  if (!sums.products.defined()) {
    sums = {none({b, h, d, e}), none({b, h, d}), values ? none({b, h, e}) : Tensor()};
  }
  FOVEA_CHECK(sums.products.shape() == Shape({b, h, d, e}), ShapeError,
              fmt::format("recurrent_attention: the state is {}, of tokens {}",
                          to_string(sums.products.shape()), to_string(Shape({b, h, d, e}))));
}

// Products of the queries with all keys that they see, times the values; and their sums z.
struct Rows {
  Tensor products, z;
};
Rows rows_of(const Chunk& c, const LinearAttentionSums& sums) {
  const bool rotates = c.q.id() != c.turned_q.id();
  const Tensor scores = mul(matmul(c.turned_q, c.turned_k, false, true), c.seen);
  const Tensor plain = rotates ? mul(matmul(c.q, c.k, false, true), c.seen) : scores;
  const Tensor keys = reshape(sums.keys, {c.q.size(0), c.q.size(1), c.q.size(3), 1});
  return {add(matmul(c.turned_q, sums.products), matmul(scores, c.v)),
          add(matmul(c.q, keys), sum(plain, {3}, true))};
}

void advance(const Chunk& c, LinearAttentionSums& sums) {
  sums.products = add(sums.products, matmul(c.turned_k, c.v, true, false));
  sums.keys = add(sums.keys, sum(c.k, {2}));
  if (sums.values.defined()) sums.values = add(sums.values, sum(c.v, {2}));
}

// Cuts the tokens into chunks; finish(chunk, rows, tokens before it) gives the results of one.
template <class Finish>
Tensor in_chunks(const HeadView& q, const HeadView& k, const HeadView& v, FeatureMap map,
                 const RotaryTables& rotary, bool sums_turned, bool values, RecurrentState& state,
                 const Finish& finish) {
  const autograd::NoGrad no_grad;
  views::check_views("recurrent_attention", q, k, v);
  const std::int64_t n = q.x.size(1);
  FOVEA_CHECK(n >= 1 && n == k.x.size(1), ShapeError,
              fmt::format("recurrent_attention: {} queries and {} keys; expected as many, at least "
                          "one",
                          n, k.x.size(1)));
  std::vector<Tensor> results;
  for (std::int64_t first = 0; first < n; first += kChunk) {
    const std::int64_t rows = std::min(kChunk, n - first);
    const RotaryTables tables = rows_of(rotary, first, rows);
    Chunk c;
    c.q = features(map, heads_of(q, first, rows));
    c.k = features(map, heads_of(k, first, rows));
    c.v = heads_of(v, first, rows);
    c.turned_q = turned(c.q, tables);
    c.turned_k = turned(c.k, tables);
    if (sums_turned) {
      c.q = c.turned_q;
      c.k = c.turned_k;
    }
    c.seen = seen_keys(rows, c.q);
    begin(c, values, state.sums);
    results.push_back(merge_heads(finish(c, rows_of(c, state.sums), state.tokens)));
    advance(c, state.sums);
    state.tokens += rows;
  }
  const Tensor all = results.size() == 1 ? results.front() : concat(results, 1);
  return cast(all, q.x.dtype());
}

void check_unmasked(const Tensor& key_mask) {
  FOVEA_CHECK(!key_mask.defined(), ShapeError,
              "recurrent_attention: key_mask is given; expected none");
}

}  // namespace

Tensor recurrent_magnitude_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                                     const MagnitudeOptions& o, RecurrentState& state) {
  check_unmasked(o.key_mask);
  FOVEA_CHECK(o.beta != Coefficient::kGiven && o.gamma != Coefficient::kGiven, ShapeError,
              "recurrent_attention: beta or gamma is given; causal attention has them by formula, "
              "or not at all");
  const bool rotated = o.normaliser == Normaliser::kRotated;
  const double scale = o.scale == SimilarityScale::kNone ? 1 : 1 / std::sqrt(double(q.dim));
  const auto finish = [&](const Chunk& c, const Rows& rows, std::int64_t before) {
    const std::int64_t n = c.q.size(2);
    const Tensor scales = column(before, n, c.q, [&](double keys) {
      return o.scale == SimilarityScale::kNone ? scale : scale / keys;
    });
    Tensor z = mul(rows.z, scales);
    if (rotated) z = clamp(z, o.eps, std::numeric_limits<double>::infinity());
    Tensor y = mul(rows.products, scales);
    if (o.beta == Coefficient::kFormula) y = mul(y, add(reciprocal(add(z, o.eps)), 1));
    if (o.gamma != Coefficient::kFormula) return y;
    const Tensor gamma = mul(z, column(before, n, c.q, [](double keys) { return 1 / keys; }));
    const Shape row{c.v.size(0), c.v.size(1), 1, c.v.size(3)};
    const Tensor values = add(reshape(state.sums.values, row), matmul(c.seen, c.v));
    return sub(y, mul(gamma, values));
  };
  return in_chunks(q, k, v, o.feature_map, o.rotary, rotated, true, state, finish);
}

Tensor recurrent_linear_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                                  const LinearAttentionOptions& o, RecurrentState& state) {
  check_unmasked(o.key_mask);
  const auto finish = [&](const Chunk&, const Rows& rows, std::int64_t) {
    return div(rows.products, add(rows.z, o.eps));
  };
  return in_chunks(q, k, v, o.feature_map, o.rotary, false, false, state, finish);
}

}  // namespace fovea::ops
