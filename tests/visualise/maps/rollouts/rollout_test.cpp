#include "visualise/maps/rollouts/rollout.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

constexpr double kTight = 1e-12;

// Softmax maps, or differences of two with a gate per row as M-DGSA makes them.
std::vector<AttentionMap> random_maps(int layers, std::int64_t heads, std::int64_t n,
                                      bool is_signed, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(0.01, 1.0);
  std::vector<AttentionMap> maps;
  for (int layer = 0; layer < layers; ++layer) {
    AttentionMap map{heads, n, {}};
    for (std::int64_t row = 0; row < heads * n; ++row) {
      const auto stochastic_row = [&] {
        std::vector<double> p(static_cast<std::size_t>(n));
        double sum = 0;
        for (double& v : p) sum += v = std::pow(uniform(engine), 4);
        for (double& v : p) v /= sum;
        return p;
      };
      const auto plus = stochastic_row(), minus = stochastic_row();
      const double gate = is_signed ? uniform(engine) : 1.0;
      for (std::size_t i = 0; i < plus.size(); ++i) {
        map.values.push_back(gate * plus[i] - (1 - gate) * minus[i]);
      }
    }
    maps.push_back(map);
  }
  return maps;
}

AttentionMap identity_map(std::int64_t heads, std::int64_t n) {
  AttentionMap map{heads, n, std::vector<double>(static_cast<std::size_t>(heads * n * n), 0.0)};
  for (std::int64_t i = 0; i < heads * n; ++i) {
    map.values[static_cast<std::size_t>(i * n + i % n)] = 1;
  }
  return map;
}

void check_values(const std::vector<double>& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("index " << i);
    CHECK(values[i] == Approx(expected[i]).margin(kTight));
  }
}

}  // namespace

TEST_CASE("rollout: two layers computed by hand", "[visualise]") {
  const std::vector<AttentionMap> layers = {{1, 2, {0.2, 0.8, 0.6, 0.4}}, {1, 2, {1, 0, 0.5, 0.5}}};
  // G1 = [.6 .4; .3 .7], G2 = [1 0; .25 .75], R = G2 G1 (not G1 G2 = [.7 .3; .475 .525]).
  const Matrix r = attention_rollout(layers, {});
  check_values(r.values, {0.6, 0.4, 0.375, 0.625});
  RolloutOptions last_only;
  last_only.start_layer = 1;
  check_values(attention_rollout(layers, last_only).values, {1, 0, 0.25, 0.75});
}

TEST_CASE("rollout: sign is applied per head, before fusion", "[visualise]") {
  const std::vector<AttentionMap> layers = {{2, 1, {0.6, -0.2}}};
  RolloutOptions o;
  o.alpha = 1;
  o.normalise = Normalise::kNone;
  const auto value = [&](Sign sign, Fusion fusion) {
    o.sign = sign;
    o.fusion = fusion;
    return attention_rollout(layers, o).values[0];
  };
  CHECK(value(Sign::kRaw, Fusion::kMean) == Approx(0.2));
  CHECK(value(Sign::kRaw, Fusion::kMin) == Approx(-0.2));
  CHECK(value(Sign::kAbs, Fusion::kMean) == Approx(0.4));
  CHECK(value(Sign::kAbs, Fusion::kMin) == Approx(0.2));
  CHECK(value(Sign::kPositive, Fusion::kMean) == Approx(0.3));
  CHECK(value(Sign::kNegative, Fusion::kMax) == Approx(0.2));
  CHECK(value(Sign::kNegative, Fusion::kMean) == Approx(0.1));
}

TEST_CASE("rollout: discard is stable, exempts entry 0 and does not replace it", "[visualise]") {
  RolloutOptions o;
  o.alpha = 1;
  o.normalise = Normalise::kNone;
  o.discard = 0.5;  // two of four entries
  check_values(
      attention_rollout(std::vector<AttentionMap>{{1, 2, {0.1, 0.4, -0.2, 0.3}}}, o).values,
      {0.1, 0.4, 0, 0.3});
  check_values(
      attention_rollout(std::vector<AttentionMap>{{1, 2, {0.5, 0.2, -0.2, 0.2}}}, o).values,
      {0.5, 0, 0, 0.2});
  o.discard = 0.49;  // floor(1.96) = 1 entry
  check_values(
      attention_rollout(std::vector<AttentionMap>{{1, 2, {0.5, 0.2, -0.2, 0.2}}}, o).values,
      {0.5, 0, -0.2, 0.2});
}

TEST_CASE("rollout: small row sums are floored with their sign", "[visualise]") {
  RolloutOptions o;
  o.alpha = 1;
  const std::vector<AttentionMap> layers = {{1, 2, {0.25, -0.25, 1e-9, -2e-9}}};
  check_values(attention_rollout(layers, o).values, {0.25e8, -0.25e8, -0.1, 0.2});
  o.normalise = Normalise::kAbs;
  check_values(attention_rollout(layers, o).values, {0.5, -0.5, 0.1, -0.2});
}

TEST_CASE("rollout: identity maps give the identity", "[visualise]") {
  const std::vector<AttentionMap> layers(3, identity_map(2, 5));
  const Matrix r = attention_rollout(layers, {});
  check_values(r.values, identity_map(1, 5).values);
}

TEST_CASE("rollout: raw + sum on softmax maps is Abnar and Zuidema's product", "[visualise]") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  const std::int64_t n = 7;
  const auto layers = random_maps(4, 3, n, false, seed);
  std::vector<double> r = identity_map(1, n).values;
  for (const AttentionMap& map : layers) {
    std::vector<double> next(r.size(), 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < n; ++k) {
        double a = 0;
        for (std::int64_t h = 0; h < 3; ++h) {
          a += map.values[static_cast<std::size_t>((h * n + i) * n + k)] / 3;
        }
        const double weight = 0.5 * a + (i == k ? 0.5 : 0.0);
        for (std::int64_t j = 0; j < n; ++j) {
          next[static_cast<std::size_t>(i * n + j)] +=
              weight * r[static_cast<std::size_t>(k * n + j)];
        }
      }
    }
    r = next;
  }
  const Matrix rollout = attention_rollout(layers, default_rollout(false));
  check_values(rollout.values, r);
  check_values(attention_rollout(layers, default_rollout(true)).values, r);  // sum equals abs here
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += rollout.at(i, j);
    CHECK(sum == Approx(1).margin(kTight));
  }
}

TEST_CASE("rollout: signed maps with abs stay bounded, with sum keep rows at one", "[visualise]") {
  const unsigned seed = GENERATE(4u, 5u);
  const auto layers = random_maps(12, 2, 9, true, seed);
  const Matrix bounded = attention_rollout(layers, default_rollout(true));
  const Matrix summed = attention_rollout(layers, default_rollout(false));
  for (std::int64_t i = 0; i < 9; ++i) {
    double magnitude = 0, sum = 0;
    for (std::int64_t j = 0; j < 9; ++j) {
      magnitude += std::abs(bounded.at(i, j));
      sum += summed.at(i, j);
    }
    CHECK(magnitude <= 1 + kTight);
    CHECK(sum == Approx(1).margin(1e-6));
  }
}

TEST_CASE("crop: keeps valid queries and keys of every head", "[visualise]") {
  AttentionMap map{2, 3, {}};
  for (int i = 0; i < 18; ++i) map.values.push_back(i);
  const std::vector<std::uint8_t> valid = {1, 0, 1};
  const AttentionMap cropped = crop(map, valid);
  CHECK(cropped.heads == 2);
  CHECK(cropped.n == 2);
  check_values(cropped.values, {0, 2, 6, 8, 9, 11, 15, 17});
  CHECK_THROWS_AS(crop(map, std::vector<std::uint8_t>{1, 1}), ShapeError);
  CHECK_THROWS_AS(crop(map, std::vector<std::uint8_t>{0, 0, 0}), ShapeError);
}

TEST_CASE("class_row and mean_row: weights of a rollout", "[visualise]") {
  const Matrix r{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 12}};
  check_values(class_row(r), {2, 3});
  check_values(class_row(r, 2), {3});
  check_values(mean_row(r), {4, 5, 7});
  check_values(mean_row(r, std::vector<std::uint8_t>{1, 0, 1}), {4, 7.5});
  CHECK_THROWS_AS(class_row(r, 3), ShapeError);
}

TEST_CASE("head_rows: the class token's row of every head, or the mean", "[visualise]") {
  const AttentionMap map{2, 2, {1, 2, 3, 4, -5, 6, 7, 9}};
  const Matrix rows = head_rows(map, 1, true);
  CHECK(rows.rows == 2);
  CHECK(rows.cols == 1);
  check_values(rows.values, {2, 6});
  check_values(head_rows(map, 0, false).values, {2, 3, 1, 7.5});
  CHECK_THROWS_AS(head_rows(map, 2, true), ShapeError);
  // A register: the others' mean, over what they read from each other.
  const AttentionMap three{1, 3, {9, 9, 9, 9, 1, 2, 9, 3, 6}};
  check_values(head_rows(three, 1, false).values, {2, 4});
}

TEST_CASE("summarise: uniform, single and signed weights", "[visualise]") {
  const WeightSummary uniform = summarise(std::vector<double>(20, 0.3));
  CHECK(uniform.entropy == Approx(std::log(20.0)));
  CHECK(uniform.relative_entropy == Approx(1));
  CHECK(uniform.top_share == Approx(0.1));
  CHECK(uniform.negative_fraction == 0);
  const WeightSummary mixed = summarise(std::vector<double>{-3, 0, 1, 0});
  CHECK(mixed.entropy == Approx(-(0.75 * std::log(0.75) + 0.25 * std::log(0.25))));
  CHECK(mixed.top_share == Approx(0.75));
  CHECK(mixed.negative_fraction == Approx(0.75));
  CHECK(summarise(std::vector<double>{0, 0}).entropy == 0);
}

TEST_CASE("rollout: refuses what it cannot compose", "[visualise]") {
  const AttentionMap two = identity_map(1, 2), three = identity_map(1, 3);
  CHECK_THROWS_AS(attention_rollout({}, {}), ShapeError);
  CHECK_THROWS_WITH(attention_rollout(std::vector{two, three}, {}),
                    Catch::Contains("layer 1 has 3 tokens"));
  CHECK_THROWS_AS(attention_rollout(std::vector<AttentionMap>{{1, 2, {1, 2, 3}}}, {}), ShapeError);
  CHECK_THROWS_AS(attention_rollout(std::vector<AttentionMap>{{1, 1, {NAN}}}, {}), NumericError);
  RolloutOptions o;
  o.start_layer = 1;
  CHECK_THROWS_AS(attention_rollout(std::vector{two}, o), ConfigError);
  o = {};
  o.discard = 1;
  CHECK_THROWS_AS(attention_rollout(std::vector{two}, o), ConfigError);
  o = {};
  o.alpha = NAN;
  CHECK_THROWS_AS(attention_rollout(std::vector{two}, o), ConfigError);
}

TEST_CASE("rollout: policy names are read and written", "[visualise]") {
  for (const auto* name : {"raw", "abs", "positive", "negative"}) {
    CHECK(name_of(sign_from_name(name)) == name);
  }
  CHECK(fusion_from_name("min") == Fusion::kMin);
  CHECK(name_of(Normalise::kNone) == "none");
  CHECK_THROWS_WITH(sign_from_name("positiv"), Catch::Contains("did you mean \"positive\""));
}
