// Explanations from maps and gradients: closed forms and properties.
#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "explain/maps/cam.h"
#include "explain/maps/flow.h"
#include "explain/maps/gradient_maps.h"
#include "explain/maps/pixels.h"
#include "explain/maps/token_map.h"
#include "explain/maps/values.h"
#include "tensor/random.h"

using namespace fovea;
using namespace fovea::explain;

namespace {

const TokenLayout kClassToken{1, Pooling::kClass};
const TokenLayout kNoPrefix{0, Pooling::kMean};

std::vector<double> drawn(std::size_t count, std::uint64_t seed) {
  const RandomStream stream(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(stream.normal(i));
  return values;
}

// Rows of positive numbers that sum to 1.
visualise::AttentionMap stochastic(std::int64_t heads, std::int64_t n, std::uint64_t seed) {
  visualise::AttentionMap map{heads, n, drawn(static_cast<std::size_t>(heads * n * n), seed)};
  for (std::int64_t row = 0; row < heads * n; ++row) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j)
      sum += map.values[as_index(row * n + j)] = std::exp(map.values[as_index(row * n + j)]);
    for (std::int64_t j = 0; j < n; ++j) map.values[as_index(row * n + j)] /= sum;
  }
  return map;
}

GradedMap graded(std::int64_t heads, std::int64_t n, std::uint64_t seed) {
  return {stochastic(heads, n, seed),
          {heads, n, drawn(static_cast<std::size_t>(heads * n * n), seed + 100)}};
}

void check_close(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO(i);
    CHECK(got[i] == Approx(expected[i]).margin(1e-12));
  }
}

}  // namespace

TEST_CASE("reading row: the class token's, or the mean behind the prefix", "[explain]") {
  const Matrix relevance{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  check_close(reading_row(relevance, kClassToken), {2, 3});
  check_close(reading_row(relevance, {1, Pooling::kMean}), {6.5, 7.5});
  check_close(reading_row(relevance, kNoPrefix), {4, 5, 6});
  CHECK_THROWS_AS(reading_row(relevance, {0, Pooling::kClass}), ConfigError);
  CHECK_THROWS_AS(reading_row(relevance, {3, Pooling::kMean}), ShapeError);
}

TEST_CASE("weighted map: mean over heads of map times gradient", "[explain]") {
  const GradedMap layer{{2, 2, {1, 2, 3, 4, 1, 1, 1, 1}}, {2, 2, {1, -1, 0, 2, 3, 1, -2, 0}}};
  check_close(weighted_map(layer, false).values, {2, -0.5, -1, 4});
  check_close(weighted_map(layer, true).values, {2, 0.5, 0, 4});
  CHECK_THROWS_AS(weighted_map({{1, 2, {1, 2, 3, 4}}, {1, 2, {1}}}, true), ShapeError);
}

TEST_CASE("generic attention: one block gives its map, and nothing more without gradients",
          "[explain]") {
  const Matrix one = weighted_map(graded(2, 4, 1), true);
  check_close(generic_relevance({&one, 1}, kClassToken), reading_row(one, kClassToken));
  const Matrix none{4, 4, std::vector<double>(16, 0.0)};
  check_close(generic_relevance({&none, 1}, kNoPrefix), std::vector<double>(4, 0.25));
}

TEST_CASE("generic attention and gradient rollout: rows equal the product of matrices",
          "[explain]") {
  const std::int64_t n = 4;
  std::vector<Matrix> layers;
  for (std::uint64_t seed : {1, 2, 3}) layers.push_back(weighted_map(graded(2, n, seed), true));
  // R = M_3 M_2 M_1 by matrices.
  const auto product = [&](bool normalised) {
    Matrix r{n, n, std::vector<double>(16, 0.0)};
    for (std::int64_t i = 0; i < n; ++i) r.at(i, i) = 1;
    for (const Matrix& layer : layers) {
      Matrix next{n, n, std::vector<double>(16, 0.0)};
      for (std::int64_t i = 0; i < n; ++i) {
        double sum = 1;
        for (std::int64_t k = 0; k < n; ++k) sum += layer.at(i, k);
        for (std::int64_t k = 0; k < n; ++k) {
          const double m = (layer.at(i, k) + (i == k ? 1 : 0)) / (normalised ? sum : 1);
          for (std::int64_t j = 0; j < n; ++j) next.at(i, j) += m * r.at(k, j);
        }
      }
      r = next;
    }
    return r;
  };
  for (const TokenLayout& layout : {kClassToken, kNoPrefix}) {
    check_close(generic_relevance(layers, layout), reading_row(product(false), layout));
    check_close(gradient_rollout(layers, layout), reading_row(product(true), layout));
  }
  const std::vector<double> row = gradient_rollout(layers, kNoPrefix);
  CHECK(std::accumulate(row.begin(), row.end(), 0.0) == Approx(1));
  CHECK_THROWS_AS(gradient_rollout(layers, kNoPrefix, 3), ConfigError);
}

TEST_CASE("attention flow: one layer gives the source's capacities", "[explain]") {
  const visualise::AttentionMap map = stochastic(1, 5, 4);
  const AttentionFlow flow = attention_flow({&map, 1}, kClassToken);
  for (std::size_t j = 0; j < 5; ++j)
    CHECK(flow.values[j] == Approx((map.values[j] + (j == 0 ? 1 : 0)) / 2));
  CHECK(flow.relevance.size() == 4);
}

TEST_CASE("attention flow: known maximum flow through two layers", "[explain]") {
  // Token 1 is reached from 0 over (0, 1) and (1, 1): 0.25 + min(0.25, 1) = 0.5 of layer 1 times
  // what leaves the class token; half of the class token's flow stays on it.
  const visualise::AttentionMap map{1, 2, {0.5, 0.5, 0, 1}};
  const std::vector<visualise::AttentionMap> layers{map, map};
  const AttentionFlow flow = attention_flow(layers, kClassToken);
  CHECK(flow.values[1] == Approx(0.25 + 0.25));
  CHECK(flow.values[0] == Approx(0.75));
  const visualise::AttentionMap negative{1, 2, {1, 0, -0.1, 1.1}};
  CHECK_THROWS_AS(attention_flow({&negative, 1}, kClassToken), ConfigError);
}

TEST_CASE("token map: reduced keys are spread evenly over their tokens", "[explain]") {
  const TokenMap map(Matrix{4, 1, {1, 2, 3, 4}}, {2, 2}, {1, 1});
  check_close(map.times({1, 0, 0, 0}), {0.25, 0.25, 0.25, 0.25});
  check_close(map.row_sums(), {1, 2, 3, 4});
}

TEST_CASE("token map: windows see their own tokens, padding nothing", "[explain]") {
  // Tokens 2 and 0 in one unit; token 1 and padding in the other.
  const TokenMap map({1, 2, 3, 4, 5, 6, 7, 8}, {2, 0, 1, -1}, 2, 3);
  check_close(map.dense().values, {4, 0, 3, 0, 5, 0, 2, 0, 1});
}

TEST_CASE("stages: a merged token's weight goes in equal parts to those below", "[explain]") {
  const auto identity = [](GridSize grid) { return StageMaps{grid, {}}; };
  const std::vector<StageMaps> stages{identity({3, 4}), identity({2, 2})};
  // Ragged rows: the lower tokens of the coarse grid are made of 2 each.
  const std::vector<double> row = through_stages(stages, StageRule::kGeneric, {{}, {1, 0, 1, 0}});
  check_close(row, {.25, .25, 0, 0, .25, .25, 0, 0, .5, .5, 0, 0});
  CHECK_THROWS_AS(through_stages(stages, StageRule::kGeneric, {{1, 0}, {}}), ShapeError);
}

TEST_CASE("stages: a decoder's token is half of what is below it and half of its skip",
          "[explain]") {
  const auto identity = [](GridSize grid, std::optional<std::size_t> skip = {}) {
    return StageMaps{grid, {}, skip};
  };
  const auto from = [](std::size_t i, std::size_t n) {
    std::vector<double> row(n, 0.0);
    row[i] = 1;
    return row;
  };
  // Without a skip connection token 5 of a 4 x 4 grid comes from token 0 of 2 x 2.
  const std::vector<StageMaps> up{identity({2, 2}), identity({4, 4})};
  check_close(through_stages(up, StageRule::kGeneric, {{}, from(5, 16)}), {1, 0, 0, 0});
  // With one half of it stays, and the other half goes over the coarse grid.
  std::vector<StageMaps> joined{identity({4, 4}), identity({2, 2}), identity({4, 4}, 0)};
  std::vector<double> expected(16, 0.0);
  for (const std::size_t i : {0U, 1U, 4U, 5U}) expected[i] = 1.0 / 8;
  expected[5] += 0.5;
  check_close(through_stages(joined, StageRule::kGeneric, {{}, {}, from(5, 16)}), expected);
  // Two stages that are read add up.
  expected[3] += 2;
  std::vector<double> also(16, 0.0);
  also[3] = 2;
  check_close(through_stages(joined, StageRule::kGeneric, {also, {}, from(5, 16)}), expected);
  // A skip connection of the beginning goes around the blocks of its stage.
  const std::vector<double> all_on_last(16 * 16, 0.0);
  Matrix last{16, 16, all_on_last};
  for (std::int64_t i = 0; i < 16; ++i) last.at(i, 15) = 1;
  joined.front().layers.emplace_back(last);
  joined.back().skip_of_begin = true;
  const auto around = through_stages(joined, StageRule::kRollout, {{}, {}, from(5, 16)});
  CHECK(around[5] == Approx(0.5 + 1.0 / 16));
  CHECK(around[15] == Approx(0.25));
  joined.back().skip_of_begin = false;
  CHECK(through_stages(joined, StageRule::kRollout, {{}, {}, from(5, 16)})[15] == Approx(0.5));
  joined.back().skip = 1;
  CHECK_THROWS_AS(through_stages(joined, StageRule::kGeneric), ShapeError);
  const std::vector<StageMaps> turned{identity({2, 4}), identity({4, 2})};
  CHECK_THROWS_AS(through_stages(turned, StageRule::kGeneric), ConfigError);
}

TEST_CASE("contributions: rows sum to one, and with equal values they are the map", "[explain]") {
  const std::int64_t n = 5, heads = 2, width = 3;
  HeadValues x{heads, n, n, stochastic(heads, n, 5).values, width, drawn(30, 6), drawn(24, 7)};
  const Matrix shares = contributions(x);
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += shares.at(i, j);
    CHECK(sum == Approx(1));
  }
  HeadValues same{1, n, n, stochastic(1, n, 8).values, width, {}, drawn(12, 9)};
  for (std::int64_t j = 0; j < n; ++j) same.values.insert(same.values.end(), {1, -2, 3});
  check_close(contributions(same).values, same.map);
  check_close(head_contributions(same), same.map);
}

TEST_CASE("value norms: with one head the summed norm is that of the head", "[explain]") {
  HeadValues x{1, 4, 4, stochastic(1, 4, 1).values, 3, drawn(12, 2), drawn(15, 3)};
  check_close(summed_norms(x).values, head_norms(x));
  x.norm = true;
  x.norm_eps = 1e-5;
  x.factor = 0.2;
  check_close(summed_norms(x).values, head_norms(x));
  x.proj.pop_back();
  CHECK_THROWS_AS(summed_norms(x), ShapeError);
}

TEST_CASE("cam: the three weightings of two channels", "[explain]") {
  const std::vector<double> a{1, 2, 3, 4}, g{2, -4, 1, 1};  // two channels of two places
  check_close(class_activation_map(Cam::kGradCam, a, g, 2), {2, 2});
  check_close(class_activation_map(Cam::kHiResCam, a, g, 2), {5, 0});
  check_close(class_activation_map(Cam::kLayerCam, a, g, 2), {5, 4});
  check_close(scaled_cam({2, 4}), {0, 2 / (2 + 1e-7)});
}

TEST_CASE("path: rules integrate, Gauss-Legendre exactly up to degree 2 n - 1", "[explain]") {
  for (const PathRule rule :
       {PathRule::kGaussLegendre, PathRule::kMidpoint, PathRule::kRight, PathRule::kTrapezoid}) {
    const PathNodes nodes = path_nodes(rule, 7);
    CHECK(std::accumulate(nodes.weights.begin(), nodes.weights.end(), 0.0) == Approx(1));
  }
  const PathNodes nodes = path_nodes(PathRule::kGaussLegendre, 5);
  for (int degree = 0; degree <= 9; ++degree) {
    double sum = 0;
    for (std::size_t k = 0; k < 5; ++k) sum += nodes.weights[k] * std::pow(nodes.at[k], degree);
    CHECK(sum == Approx(1.0 / (degree + 1)).epsilon(1e-13));
  }
  CHECK_THROWS_AS(path_nodes(PathRule::kTrapezoid, 1), ConfigError);
}

TEST_CASE("pixels: four ways to reduce channels, and masks of RISE", "[explain]") {
  const std::vector<double> two{3, -1, -4, 1};  // two channels of two places
  check_close(reduced(two, 2, Reduce::kSum), {-1, 0});
  check_close(reduced(two, 2, Reduce::kAbsSum), {7, 2});
  check_close(reduced(two, 2, Reduce::kAbsMax), {4, 1});
  check_close(reduced(two, 2, Reduce::kL2), {5, std::sqrt(2.0)});
  check_close(rise_map({1, 1, 1, 1}, {0.5, 0.3}, 0.5), {0.8, 0.8});
}
