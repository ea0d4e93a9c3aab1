#include "visualise/maps/rollouts/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <xtensor-blas/xlinalg.hpp>

#include "base/error.h"
#include "tensor/xtensor.h"

namespace fovea::visualise {
namespace {

using Row = xt::xtensor<double, 1>;
using Square = xt::xtensor<double, 2>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

void check_options(const RolloutOptions& o, std::int64_t depth) {
  FOVEA_CHECK(o.alpha >= 0 && o.alpha <= 1, ConfigError,
              fmt::format("rollout: alpha is {}; expected a number in [0, 1]", o.alpha));
  FOVEA_CHECK(o.discard >= 0 && o.discard < 1, ConfigError,
              fmt::format("rollout: discard is {}; expected a number in [0, 1)", o.discard));
  FOVEA_CHECK(o.start_layer >= 0 && o.start_layer < depth, ConfigError,
              fmt::format("rollout: start_layer is {}; expected 0..{} for {} layers", o.start_layer,
                          depth - 1, depth));
}

void check_map(const AttentionMap& map, std::int64_t layer, std::int64_t n) {
  FOVEA_CHECK(map.heads >= 1 && map.n >= 1 && map.values.size() == index(map.heads * map.n * map.n),
              ShapeError,
              fmt::format("rollout: map of layer {} holds {} values; expected (heads, n, n) = "
                          "({}, {}, {})",
                          layer, map.values.size(), map.heads, map.n, map.n));
  FOVEA_CHECK(
      map.n == n, ShapeError,
      fmt::format("rollout: maps do not compose: layer {} has {} tokens, the first layer {}", layer,
                  map.n, n));
  const auto finite = [](double v) { return std::isfinite(v); };
  const auto bad = std::find_if_not(map.values.begin(), map.values.end(), finite);
  FOVEA_CHECK(bad == map.values.end(), NumericError,
              fmt::format("rollout: map of layer {} holds {} at index {}; expected finite values",
                          layer, *bad, bad - map.values.begin()));
}

auto view_of(const AttentionMap& map) {
  return as_xtensor(std::span(map.values), {map.heads, map.n, map.n});
}

auto view_of(const Matrix& m) { return as_xtensor(std::span(m.values), {m.rows, m.cols}); }

// Step 2: one (n, n) map from all heads.
template <class Maps>
Square fused(const Maps& maps, Fusion fusion) {
  if (fusion == Fusion::kMax) return xt::amax(maps, {0});
  if (fusion == Fusion::kMin) return xt::amin(maps, {0});
  return xt::mean(maps, {0});
}

// Steps 1 and 2: the sign policy on every head, then their fusion.
Square fuse_heads(const AttentionMap& map, const RolloutOptions& o) {
  const auto a = view_of(map);
  switch (o.sign) {
    case Sign::kAbs:
      return fused(xt::abs(a), o.fusion);
    case Sign::kPositive:
      return fused(xt::maximum(a, 0.0), o.fusion);
    case Sign::kNegative:
      return fused(xt::maximum(-a, 0.0), o.fusion);
    case Sign::kRaw:
      break;
  }
  return fused(a, o.fusion);
}

// Step 3. The class token's attention to itself (flat index 0) counts among the k smallest but
// stays, and no other entry takes its place.
void discard_smallest(Square& fused, double share) {
  const auto count =
      static_cast<std::ptrdiff_t>(std::floor(static_cast<double>(fused.size()) * share));
  if (count == 0) return;
  std::vector<std::size_t> order(fused.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(fused.flat(a)) < std::abs(fused.flat(b));
  });
  std::for_each(order.begin(), order.begin() + count, [&](std::size_t i) {
    if (i != 0) fused.flat(i) = 0;
  });
}

// Step 5. A vanishing denominator is floored at 1e-8 with its sign kept (zero counts as positive).
void normalise_rows(Square& g, Normalise normalise) {
  constexpr double kFloor = 1e-8;
  if (normalise == Normalise::kNone) return;
  Row sums = normalise == Normalise::kAbs ? Row(xt::sum(xt::abs(g), {1})) : Row(xt::sum(g, {1}));
  sums = xt::where(sums < 0, -1.0, 1.0) * xt::maximum(xt::abs(sums), kFloor);
  g /= xt::view(sums, xt::all(), xt::newaxis());
}

std::int64_t check_square(const Matrix& rollout) {
  FOVEA_CHECK(rollout.rows >= 1 && rollout.rows == rollout.cols &&
                  rollout.values.size() == index(rollout.rows * rollout.cols),
              ShapeError,
              fmt::format("rollout: matrix is ({}, {}) with {} values; expected (n, n)",
                          rollout.rows, rollout.cols, rollout.values.size()));
  return rollout.rows;
}

void check_prefix(std::int64_t prefix_tokens, std::int64_t n) {
  FOVEA_CHECK(prefix_tokens >= 0 && prefix_tokens < n, ShapeError,
              fmt::format("rollout: {} prefix tokens of {} leave no token", prefix_tokens, n));
}

std::vector<std::size_t> valid_indices(std::span<const std::uint8_t> valid, std::int64_t n) {
  FOVEA_CHECK(valid.size() == index(n), ShapeError,
              fmt::format("rollout: mask has {} tokens; expected {}", valid.size(), n));
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (valid[i] != 0) kept.push_back(i);
  }
  FOVEA_CHECK(!kept.empty(), ShapeError, "rollout: mask has no valid token");
  return kept;
}

}  // namespace

RolloutOptions default_rollout(bool signed_maps) {
  RolloutOptions options;
  options.normalise = signed_maps ? Normalise::kAbs : Normalise::kSum;
  return options;
}

Matrix fused_heads(const AttentionMap& map, Fusion fusion) {
  check_map(map, 0, map.n);
  const Square one = fuse_heads(map, {.fusion = fusion});
  return {map.n, map.n, {one.begin(), one.end()}};
}

Matrix attention_rollout(std::span<const AttentionMap> layers, const RolloutOptions& options) {
  FOVEA_CHECK(!layers.empty(), ShapeError, "rollout: no attention maps; expected one per layer");
  check_options(options, std::ssize(layers));
  const std::int64_t n = layers.front().n;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    check_map(layers[layer], static_cast<std::int64_t>(layer), n);
  }
  const Square identity = xt::eye<double>(index(n));
  Square r;
  for (const AttentionMap& map : layers.subspan(index(options.start_layer))) {
    Square f = fuse_heads(map, options);
    discard_smallest(f, options.discard);
    Square g = options.alpha * f + (1 - options.alpha) * identity;
    normalise_rows(g, options.normalise);
    r = r.size() == 0 ? std::move(g) : Square(xt::linalg::dot(g, r));
  }
  return {n, n, std::vector<double>(r.begin(), r.end())};
}

AttentionMap crop(const AttentionMap& map, std::span<const std::uint8_t> valid) {
  check_map(map, 0, map.n);
  const std::vector<std::size_t> kept = valid_indices(valid, map.n);
  AttentionMap result{map.heads, std::ssize(kept), {}};
  result.values.reserve(index(map.heads) * kept.size() * kept.size());
  for (std::size_t head = 0; head < index(map.heads); ++head) {
    for (const std::size_t query : kept) {
      const std::size_t row = (head * index(map.n) + query) * index(map.n);
      for (const std::size_t key : kept) result.values.push_back(map.values[row + key]);
    }
  }
  return result;
}

Matrix head_rows(const AttentionMap& map, std::int64_t prefix_tokens, bool class_token) {
  check_map(map, 0, map.n);
  check_prefix(prefix_tokens, map.n);
  const auto a = view_of(map);
  const auto others = [&] { return xt::range(prefix_tokens, map.n); };
  const Square rows = class_token
                          ? Square(xt::view(a, xt::all(), 0, others()))
                          : Square(xt::mean(xt::view(a, xt::all(), others(), others()), {1}));
  return {map.heads, map.n - prefix_tokens, {rows.begin(), rows.end()}};
}

std::vector<double> class_row(const Matrix& rollout, std::int64_t prefix_tokens) {
  const std::int64_t n = check_square(rollout);
  check_prefix(prefix_tokens, n);
  return {rollout.values.begin() + prefix_tokens, rollout.values.begin() + n};
}

std::vector<double> mean_row(const Matrix& rollout) {
  check_square(rollout);
  const Row mean = xt::mean(view_of(rollout), {0}, xt::evaluation_strategy::immediate);
  return {mean.begin(), mean.end()};
}

std::vector<double> mean_row(const Matrix& rollout, std::span<const std::uint8_t> valid) {
  const std::size_t n = index(check_square(rollout));
  const std::vector<std::size_t> kept = valid_indices(valid, rollout.rows);
  std::vector<double> weights(kept.size(), 0.0);
  for (const std::size_t row : kept) {
    for (std::size_t j = 0; j < kept.size(); ++j) weights[j] += rollout.values[row * n + kept[j]];
  }
  for (double& weight : weights) weight /= static_cast<double>(kept.size());
  return weights;
}

WeightSummary summarise(std::span<const double> weights) {
  WeightSummary summary;
  const auto w = as_xtensor(weights, {std::ssize(weights)});
  Row sizes = xt::abs(w);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  const double total = xt::sum(sizes)();
  if (!(total > 0)) return summary;
  const Row shares = sizes / total;
  summary.entropy = -xt::sum(xt::where(shares > 0, shares * xt::log(shares), 0.0))();
  const auto count = static_cast<double>(sizes.size());
  if (sizes.size() > 1) summary.relative_entropy = summary.entropy / std::log(count);
  const std::size_t top = (sizes.size() + 9) / 10;
  summary.top_share = xt::sum(xt::view(sizes, xt::range(0, top)))() / total;
  summary.negative_fraction = xt::sum(xt::maximum(-w, 0.0) / total)();
  return summary;
}

}  // namespace fovea::visualise
