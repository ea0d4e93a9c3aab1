// What the mala paper says of its scores, and what it should have said. mala 10.
#include <algorithm>
#include <cmath>

#include "ops/attention/magnitude_attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using ops::Coefficient;
using ops::MagnitudeMap;
using ops::MagnitudeOptions;
using ops::SimilarityScale;

namespace {

constexpr std::int64_t kN = 12, kMagnitudeDim = 8;

ops::HeadView single(const Tensor& rows) {
  return ops::heads(ops::reshape(rows, {1, rows.size(0), rows.size(1)}), 1, rows.size(1), 0,
                    rows.size(1));
}

// Positive features of length about sigma.
Tensor some_features(std::int64_t n, std::uint64_t seed, double sigma = 1) {
  return ops::elu_plus_one(ops::mul(random_tensor({n, kMagnitudeDim}, seed), sigma));
}

MagnitudeOptions of_features(double eps = 0) {
  return {.feature_map = FeatureMap::kNone, .eps = eps};
}

std::vector<double> scores(const Tensor& q, const Tensor& k, const MagnitudeOptions& options) {
  return to_doubles(ops::magnitude_map(single(q), single(k), options).scores);
}

double greatest(const std::vector<double>& row) {
  return *std::max_element(row.begin(), row.end());
}

double entropy(const std::vector<double>& row) {
  double total = 0;
  for (const double p : row) total -= p * std::log(p);
  return total;
}

std::vector<double> linear_scores(const Tensor& q, const Tensor& k, FeatureMap map) {
  return to_doubles(
      ops::linear_attention_map(single(q), single(k), {.feature_map = map, .eps = 0}));
}

std::vector<double> softmax_scores(const Tensor& q, const Tensor& k) {
  return to_doubles(ops::attention_map(single(q), single(k), {1 / std::sqrt(8.0), false, {}}));
}

}  // namespace

TEST_CASE("mala: rows sum to z / (z + eps), for every kernel and scale, masked and causal",
          "[ops][property]") {
  const Tensor q = random_tensor({kN, kMagnitudeDim}, 1);
  const Tensor k = random_tensor({kN, kMagnitudeDim}, 2);
  const Tensor mask =
      Tensor::from(std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, {1, kN}, cpu());
  for (const FeatureMap map : {FeatureMap::kEluPlusOne, FeatureMap::kRelu, FeatureMap::kExp}) {
    for (const SimilarityScale scale : {SimilarityScale::kNone, SimilarityScale::kHeadDimMean}) {
      for (const int kind : {0, 1, 2}) {
        MagnitudeOptions options{.feature_map = map, .scale = scale, .eps = 0.01};
        options.causal = kind == 1;
        if (kind == 2) options.key_mask = mask;
        const MagnitudeMap found = ops::magnitude_map(single(q), single(k), options);
        const std::vector<double> sums = to_doubles(ops::sum(found.scores, {-1}));
        const std::vector<double> z = to_doubles(found.z);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          const bool hidden = kind == 2 && i >= 9;
          CHECK(sums[i] == Approx(hidden ? 0 : z[i] / (z[i] + 0.01)).margin(1e-10));
        }
      }
    }
  }
}

TEST_CASE("mala: without beta rows sum to 0, without gamma to z + 1", "[ops][property]") {
  const Tensor q = random_tensor({kN, kMagnitudeDim}, 3);
  const Tensor k = random_tensor({kN, kMagnitudeDim}, 4);
  const auto sums = [&](const MagnitudeOptions& options) {
    return to_doubles(ops::sum(ops::magnitude_map(single(q), single(k), options).scores, {-1}));
  };
  for (const double sum : sums({.beta = Coefficient::kNone})) CHECK(std::abs(sum) < 1e-10);
  const std::vector<double> z = to_doubles(ops::magnitude_map(single(q), single(k), {}).z);
  const std::vector<double> free = sums({.eps = 0, .gamma = Coefficient::kNone});
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(free[i] == Approx(z[i] + 1).margin(1e-10));
}

TEST_CASE("mala: it is linear attention plus centred similarities", "[ops][property]") {
  const Tensor q = some_features(kN, 5);
  const Tensor k = some_features(kN, 6);
  const std::vector<double> mala = scores(q, k, of_features());
  const std::vector<double> linear = linear_scores(q, k, FeatureMap::kNone);
  MagnitudeOptions plain = of_features();
  plain.beta = plain.gamma = Coefficient::kNone;
  const std::vector<double> similar = scores(q, k, plain);
  for (std::size_t i = 0; i < kN; ++i) {
    double mean = 0;
    for (std::size_t j = 0; j < kN; ++j) mean += similar[i * kN + j] / kN;
    for (std::size_t j = 0; j < kN; ++j) {
      const std::size_t at = i * kN + j;
      CHECK(mala[at] == Approx(linear[at] + similar[at] - mean).margin(1e-12));
      // Below 0 where a similarity is that much below the mean.
      CHECK((mala[at] < 0) == (similar[at] / mean < kN * mean / (1 + kN * mean)));
    }
  }
}

TEST_CASE("mala: a longer query scales beta and gamma, and sharpens linearly", "[ops][property]") {
  const Tensor q = some_features(1, 7, 0.1);
  const Tensor k = some_features(kN, 8, 0.1);
  const MagnitudeMap at_one = ops::magnitude_map(single(q), single(k), of_features());
  const std::vector<double> one = to_doubles(at_one.scores);
  MagnitudeOptions plain = of_features();
  plain.beta = plain.gamma = Coefficient::kNone;
  const std::vector<double> similar = scores(q, k, plain);
  const double z = at_one.z.item<double>();
  const std::vector<double> softmax = softmax_scores(q, k);
  REQUIRE(*std::min_element(one.begin(), one.end()) > 0);
  for (const double a : {2.0, 4.0, 8.0}) {
    const Tensor longer = ops::mul(q, a);
    const MagnitudeMap map = ops::magnitude_map(single(longer), single(k), of_features());
    CHECK(map.beta.item<double>() == Approx((at_one.beta.item<double>() + a - 1) / a));
    CHECK(map.gamma.item<double>() == Approx(a * at_one.gamma.item<double>()));
    const std::vector<double> row = to_doubles(map.scores);
    const std::vector<double> sharper = softmax_scores(longer, k);
    for (std::size_t m = 0; m < kN; ++m) {
      CHECK(row[m] == Approx(one[m] + (a - 1) * (similar[m] - z / kN)).margin(1e-12));
      for (std::size_t n = 0; n < kN; ++n) {
        if (one[m] > one[n] && row[m] > 0 && row[n] > 0) CHECK(row[m] / row[n] > one[m] / one[n]);
        CHECK(sharper[m] / sharper[n] == Approx(std::pow(softmax[m] / softmax[n], a)));
      }
    }
  }
}

TEST_CASE("linear attention: a longer feature changes nothing, a longer query does but for relu",
          "[ops][property]") {
  const Tensor q = random_tensor({1, kMagnitudeDim}, 9);
  const Tensor k = random_tensor({kN, kMagnitudeDim}, 10);
  const auto difference = [&](FeatureMap map) {
    const std::vector<double> one = linear_scores(q, k, map);
    const std::vector<double> more = linear_scores(ops::mul(q, 3), k, map);
    double most = 0;
    for (std::size_t i = 0; i < one.size(); ++i) most = std::max(most, std::abs(one[i] - more[i]));
    return most;
  };
  const Tensor phi = ops::elu_plus_one(q);
  const Tensor keys = ops::elu_plus_one(k);
  const std::vector<double> one = linear_scores(phi, keys, FeatureMap::kNone);
  const std::vector<double> more = linear_scores(ops::mul(phi, 4), keys, FeatureMap::kNone);
  CHECK(one == more);  // a power of two
  CHECK(difference(FeatureMap::kRelu) < 1e-12);
  CHECK(difference(FeatureMap::kEluPlusOne) > 1e-3);
  CHECK(difference(FeatureMap::kExp) > 1e-3);
}

TEST_CASE("mala, softmax: the largest score grows with the query, entropy of positive rows falls",
          "[ops][property]") {
  const Tensor q = some_features(1, 11, 0.1);
  const Tensor k = some_features(kN, 12, 0.1);
  double mala_before = 0, softmax_before = 0;
  double entropy_before = 1e9, softmax_entropy_before = 1e9;
  for (const double a : {1.0, 1.5, 2.0, 4.0, 8.0}) {
    const std::vector<double> mala = scores(ops::mul(q, a), k, of_features());
    const std::vector<double> softmax = softmax_scores(ops::mul(q, a), k);
    CHECK(greatest(mala) >= mala_before);
    CHECK(greatest(softmax) >= softmax_before);
    mala_before = greatest(mala);
    softmax_before = greatest(softmax);
    CHECK(entropy(softmax) < softmax_entropy_before);
    softmax_entropy_before = entropy(softmax);
    if (*std::min_element(mala.begin(), mala.end()) <= 0) continue;
    CHECK(entropy(mala) < entropy_before);
    entropy_before = entropy(mala);
  }
}

TEST_CASE("mala: how many scores are negative", "[ops][property]") {
  constexpr std::int64_t n = 196, d = 64;
  const auto share = [&](SimilarityScale scale, double sigma) {
    double negative = 0, all = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Tensor q = ops::mul(random_tensor({n, d}, 100 + seed), sigma);
      const Tensor k = ops::mul(random_tensor({n, d}, 200 + seed), sigma);
      for (const double score : scores(q, k, {.scale = scale})) {
        negative += score < 0 ? 1 : 0;
        all += 1;
      }
    }
    return negative / all;
  };
  CHECK(share(SimilarityScale::kHeadDimMean, 1) == Approx(0.21).margin(0.01));
  CHECK(share(SimilarityScale::kHeadDimMean, 0.25) < 1e-3);
  CHECK(share(SimilarityScale::kHeadDimMean, 2) == Approx(0.38).margin(0.01));
  CHECK(share(SimilarityScale::kNone, 1) == Approx(0.5).margin(0.04));
}

TEST_CASE("mala, causal: the first token is its value, and nothing behind is seen",
          "[ops][property]") {
  constexpr std::int64_t n = 150, width = 5;
  const Tensor q = random_tensor({1, n, kMagnitudeDim}, 13);
  const Tensor k = random_tensor({1, n, kMagnitudeDim}, 14);
  const Tensor v = random_tensor({1, n, width}, 15);
  const auto attend = [&](const Tensor& keys, const Tensor& values) {
    return ops::magnitude_attention(ops::heads(q, 1, kMagnitudeDim, 0, kMagnitudeDim),
                                    ops::heads(keys, 1, kMagnitudeDim, 0, kMagnitudeDim),
                                    ops::heads(values, 1, width, 0, width),
                                    {.eps = 0, .causal = true});
  };
  const Tensor y = attend(k, v);
  CHECK(max_difference(ops::slice(y, 1, 0, 1), ops::slice(v, 1, 0, 1)) < 1e-12);
  const Tensor other_k = ops::clone(k);
  const Tensor other_v = ops::clone(v);
  constexpr std::int64_t changed = 100;
  const auto add = [](const Tensor& x, std::int64_t row_width, double amount) {
    edit<double>(x, [&](auto values) {
      for (double& value : values.subspan(changed * row_width, row_width)) value += amount;
    });
  };
  add(other_k, kMagnitudeDim, 1);
  add(other_v, width, -1);
  const Tensor other = attend(other_k, other_v);
  CHECK(max_difference(ops::slice(y, 1, 0, changed), ops::slice(other, 1, 0, changed)) == 0.0);
  CHECK(max_difference(ops::slice(y, 1, changed, 1), ops::slice(other, 1, changed, 1)) > 1e-6);
}

TEST_CASE("mala: order of keys does not matter, that of queries is that of rows",
          "[ops][property]") {
  const Tensor q = random_tensor({1, kN, kMagnitudeDim}, 16);
  const Tensor k = random_tensor({1, kN, kMagnitudeDim}, 17);
  const Tensor v = random_tensor({1, kN, kMagnitudeDim}, 18);
  const auto attend = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    const auto view = [](const Tensor& x) {
      return ops::heads(x, 2, kMagnitudeDim / 2, 0, kMagnitudeDim / 2);
    };
    return ops::magnitude_attention(view(a), view(b), view(c), {});
  };
  const Tensor y = attend(q, k, v);
  CHECK(max_difference(y, attend(q, ops::flip(k, 1), ops::flip(v, 1))) < 1e-12);
  CHECK(max_difference(ops::flip(y, 1), attend(ops::flip(q, 1), k, v)) < 1e-12);
}

TEST_CASE("mala: constant values give the constant times the sum of the row", "[ops][property]") {
  const Tensor q = random_tensor({1, kN, kMagnitudeDim}, 19);
  const Tensor k = random_tensor({1, kN, kMagnitudeDim}, 20);
  const Tensor v = ops::full({1, kN, kMagnitudeDim}, 2.5, DType::kFloat64, cpu());
  const auto view = [](const Tensor& x) {
    return ops::heads(x, 1, kMagnitudeDim, 0, kMagnitudeDim);
  };
  const MagnitudeOptions options{.eps = 0.1};
  const auto y = to_doubles(ops::magnitude_attention(view(q), view(k), view(v), options));
  const auto sums =
      to_doubles(ops::sum(ops::magnitude_map(view(q), view(k), options).scores, {-1}));
  for (std::size_t i = 0; i < kN * kMagnitudeDim; ++i)
    CHECK(y[i] == Approx(2.5 * sums[i / kMagnitudeDim]).margin(1e-10));
}
