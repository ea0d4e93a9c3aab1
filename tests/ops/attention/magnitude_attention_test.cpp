#include "ops/attention/magnitude_attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using ops::Coefficient;
using ops::MagnitudeOptions;
using ops::SimilarityScale;

namespace {

constexpr std::int64_t kMagnitudeHeads = 2;

struct MagnitudeSizes {
  std::int64_t n, dim, width;
};

// q | k | v of all heads in one tensor, as a fused projection has them.
struct Views {
  ops::HeadView q, k, v;
};
Views views_of(const Tensor& qkv, const MagnitudeSizes& s) {
  return {ops::heads(qkv, kMagnitudeHeads, s.dim, 0, s.dim),
          ops::heads(qkv, kMagnitudeHeads, s.dim, kMagnitudeHeads * s.dim, s.dim),
          ops::heads(qkv, kMagnitudeHeads, s.width, 2 * kMagnitudeHeads * s.dim, s.width)};
}
std::int64_t magnitude_width(const MagnitudeSizes& s) {
  return kMagnitudeHeads * (2 * s.dim + s.width);
}

Tensor attend_magnitude(const Tensor& qkv, const MagnitudeSizes& s,
                        const MagnitudeOptions& options) {
  const auto [q, k, v] = views_of(qkv, s);
  return ops::magnitude_attention(q, k, v, options);
}

// The map times the values.
Tensor dense(const Tensor& qkv, const MagnitudeSizes& s, const MagnitudeOptions& options) {
  const auto [q, k, v] = views_of(qkv, s);
  const Tensor scores = ops::magnitude_map(q, k, options).scores;
  return ops::merge_heads(ops::matmul(scores, ops::take_heads(v)));
}

ops::RotaryTables turns(std::int64_t n, std::int64_t pairs, DType dtype = DType::kFloat64) {
  const Tensor angles = random_tensor({n, pairs}, 77, dtype);
  return {ops::cos(angles), ops::sin(angles)};
}

// Every way of weighing values. mala 3.2 to 3.4.
std::vector<MagnitudeOptions> all_options(const MagnitudeSizes& s) {
  std::vector<MagnitudeOptions> all;
  for (const FeatureMap map : {FeatureMap::kEluPlusOne, FeatureMap::kRelu, FeatureMap::kExp}) {
    all.push_back({.feature_map = map});
    all.push_back({.feature_map = map, .scale = SimilarityScale::kNone});
  }
  all.push_back({.beta = Coefficient::kNone});
  all.push_back({.gamma = Coefficient::kNone});
  all.push_back({.beta = Coefficient::kNone, .gamma = Coefficient::kNone});
  if (s.dim % 2 == 0) {
    all.push_back({.rotary = turns(s.n, s.dim / 2)});
    all.push_back({.normaliser = ops::Normaliser::kRotated, .rotary = turns(s.n, s.dim / 2)});
    all.push_back({.causal = true, .rotary = turns(s.n, s.dim / 2)});
  }
  all.push_back({.causal = true});
  all.push_back({.scale = SimilarityScale::kNone, .causal = true});
  all.push_back({.gamma = Coefficient::kNone, .causal = true});
  return all;
}

Tensor mask_without(std::int64_t b, std::int64_t n, const std::vector<std::int64_t>& hidden) {
  std::vector<std::uint8_t> valid(static_cast<std::size_t>(b * n), 1);
  for (const std::int64_t i : hidden) valid[static_cast<std::size_t>(i)] = 0;
  return Tensor::from(valid, {b, n}, cpu());
}

}  // namespace

TEST_CASE("magnitude attention: the n x n form", "[ops]") {
  const auto s =
      GENERATE(MagnitudeSizes{5, 4, 6}, MagnitudeSizes{1, 1, 1}, MagnitudeSizes{131, 6, 3});
  const Tensor qkv = random_tensor({2, s.n, magnitude_width(s)}, 3);
  for (const MagnitudeOptions& options : all_options(s)) {
    CAPTURE(s.n, static_cast<int>(options.feature_map), options.causal);
    const Tensor expected = dense(qkv, s, options);
    double largest = 1;  // without their scale scores are in the hundreds
    for (const double value : to_doubles(expected)) largest = std::max(largest, std::abs(value));
    CHECK(max_difference(attend_magnitude(qkv, s, options), expected) < 1e-12 * largest);
  }
}

TEST_CASE("magnitude attention: gradients", "[ops][long]") {
  const auto s =
      GENERATE(MagnitudeSizes{5, 4, 6}, MagnitudeSizes{1, 1, 1}, MagnitudeSizes{3, 2, 3});
  const Tensor qkv = random_tensor({2, s.n, magnitude_width(s)}, 4);
  for (const MagnitudeOptions& options : all_options(s)) {
    // At z = 0 there is no derivative; that is a test of its own.
    if (options.feature_map == FeatureMap::kRelu) continue;
    CAPTURE(s.n, static_cast<int>(options.feature_map), options.causal);
    check_gradients([&](const auto& t) { return attend_magnitude(t[0], s, options); }, {qkv});
  }
}

TEST_CASE("magnitude attention: gradients over several blocks are those of the n x n form",
          "[ops]") {
  const MagnitudeSizes s{150, 4, 3};
  const Tensor given = random_tensor({1, s.n, magnitude_width(s)}, 5);
  const Tensor upstream = random_tensor({1, s.n, kMagnitudeHeads * s.width}, 6);
  for (const bool causal : {false, true}) {
    MagnitudeOptions options{.causal = causal, .rotary = turns(s.n, s.dim / 2)};
    const auto gradient = [&](const auto& forward) {
      const Tensor qkv = trainable(ops::clone(given));
      autograd::backward(forward(qkv, s, options), upstream);
      return qkv.grad();
    };
    CHECK(max_difference(gradient(attend_magnitude), gradient(dense)) < 1e-10);
  }
}

TEST_CASE(
    "magnitude attention: relu, gradients where features are open and where a query is nothing",
    "[ops]") {
  const MagnitudeSizes s{4, 3, 2};
  const MagnitudeOptions options{.feature_map = FeatureMap::kRelu};
  // Away from 0, and no query is nothing.
  Tensor qkv = random_tensor({1, s.n, magnitude_width(s)}, 7);
  edit<double>(qkv, [&](auto values) {
    for (double& value : values) value += value > 0 ? 0.2 : -0.2;
    for (std::int64_t n = 0; n < s.n; ++n) {
      for (std::int64_t part = 0; part < 2 * kMagnitudeHeads; ++part)
        values[static_cast<std::size_t>(n * magnitude_width(s) + part * s.dim)] =
            0.7 + 0.1 * static_cast<double>(n + part);
    }
  });
  check_gradients([&](const auto& t) { return attend_magnitude(t[0], s, options); }, {qkv});
  // Query 1 of the first head: z = 0, and its row of the result 0, not a mean of values.
  const auto second = static_cast<std::size_t>(magnitude_width(s));
  const auto dim = static_cast<std::size_t>(s.dim);
  edit<double>(qkv, [&](auto values) { std::ranges::fill(values.subspan(second, dim), -1); });
  const Tensor x = trainable(ops::clone(qkv.detach()));
  const Tensor y = attend_magnitude(x, s, options);
  for (const double value : to_doubles(ops::slice(ops::slice(y, 1, 1, 1), 2, 0, s.width)))
    CHECK(value == 0.0);
  autograd::backward(y, random_tensor(y.shape(), 8));
  const auto gradient = to_doubles(x.grad());
  for (const double value : gradient) CHECK(std::isfinite(value));
  for (std::size_t i = 0; i < dim; ++i) CHECK(gradient[second + i] == 0.0);
}

TEST_CASE("magnitude attention: given coefficients, and their gradients", "[ops]") {
  const MagnitudeSizes s{5, 4, 3};
  const Tensor qkv = random_tensor({2, s.n, magnitude_width(s)}, 9);
  const Tensor beta = random_tensor({kMagnitudeHeads, s.width}, 10);
  const Tensor gamma = random_tensor({kMagnitudeHeads, s.width}, 11);
  const auto with = [&](const Tensor& x, const Tensor& b, const Tensor& g) {
    return attend_magnitude(x, s,
                            {.beta = Coefficient::kGiven,
                             .gamma = Coefficient::kGiven,
                             .given_beta = b,
                             .given_gamma = g});
  };
  check_gradients([&](const auto& t) { return with(t[0], t[1], t[2]); }, {qkv, beta, gamma});
  const Tensor similar =
      attend_magnitude(qkv, s, {.beta = Coefficient::kNone, .gamma = Coefficient::kNone});
  const Tensor total = ops::sum(
      ops::slice(qkv, -1, 2 * kMagnitudeHeads * s.dim, kMagnitudeHeads * s.width), {1}, true);
  const auto row = [&](const Tensor& x) {
    return ops::reshape(x, {1, 1, kMagnitudeHeads * s.width});
  };
  const Tensor expected = ops::sub(ops::mul(similar, row(beta)),
                                   ops::mul(ops::expand(total, similar.shape()), row(gamma)));
  CHECK(max_difference(with(qkv, beta, gamma), expected) < 1e-12);
  CHECK_THROWS_WITH(
      attend_magnitude(qkv, s, {.beta = Coefficient::kGiven, .given_beta = beta, .causal = true}),
      Catch::Contains("beta is given; causal attention has it by formula"));
  CHECK_THROWS_WITH(
      attend_magnitude(qkv, s, {.beta = Coefficient::kGiven, .given_beta = row(beta)}),
      Catch::Contains("beta is float64 (1, 1, 6); expected float64 (2, 3)"));
}

TEST_CASE("magnitude attention: what finishes the heads, and its gradients", "[ops]") {
  const MagnitudeSizes s{5, 4, 3};
  const std::int64_t all = magnitude_width(s) + 2 * kMagnitudeHeads * s.width;
  const Tensor given = random_tensor({2, s.n, all}, 12);
  const auto finished = [&](const Tensor& t, bool causal) {
    const auto [q, k, v] = views_of(t, s);
    const auto more = [&](std::int64_t which) {
      return ops::heads(t, kMagnitudeHeads, s.width,
                        magnitude_width(s) + which * kMagnitudeHeads * s.width, s.width);
    };
    return ops::magnitude_attention(
        q, k, v, {.causal = causal},
        {.weight = {}, .gate = more(1), .gate_op = UnaryOp::kAffine, .residual = more(0)});
  };
  for (const bool causal : {false, true}) {
    check_gradients([&](const auto& t) { return finished(t[0], causal); }, {given});
    const auto [q, k, v] = views_of(given, s);
    const Tensor y = ops::magnitude_attention(q, k, v, {.causal = causal});
    const auto more = [&](std::int64_t which) {
      return ops::slice(given, -1, magnitude_width(s) + which * kMagnitudeHeads * s.width,
                        kMagnitudeHeads * s.width);
    };
    CHECK(max_difference(finished(given, causal), ops::mul(ops::add(y, more(0)), more(1))) < 1e-12);
  }
}

TEST_CASE("magnitude attention: masked tokens are as if they were not there", "[ops]") {
  const MagnitudeSizes s{6, 4, 3};
  const Tensor qkv = random_tensor({2, s.n, magnitude_width(s)}, 13);
  // The first item has no last two tokens.
  const MagnitudeOptions masked{.key_mask = mask_without(2, s.n, {4, 5})};
  const Tensor y = attend_magnitude(qkv, s, masked);
  const Tensor shorter = attend_magnitude(ops::slice(ops::slice(qkv, 0, 0, 1), 1, 0, 4), s, {});
  CHECK(max_difference(ops::slice(ops::slice(y, 0, 0, 1), 1, 0, 4), shorter) < 1e-12);
  for (const double value : to_doubles(ops::slice(ops::slice(y, 0, 0, 1), 1, 4, 2)))
    CHECK(value == 0.0);
  CHECK(max_difference(y, dense(qkv, s, masked)) < 1e-12);
  check_gradients([&](const auto& t) { return attend_magnitude(t[0], s, masked); }, {qkv});
  // An item of nothing is nothing.
  const MagnitudeOptions nothing{.key_mask = mask_without(2, s.n, {0, 1, 2, 3, 4, 5})};
  for (const double value : to_doubles(ops::slice(attend_magnitude(qkv, s, nothing), 0, 0, 1)))
    CHECK(value == 0.0);
  CHECK_THROWS_WITH(attend_magnitude(qkv, s, {.causal = true, .key_mask = masked.key_mask}),
                    Catch::Contains("none for causal attention"));
}

TEST_CASE("magnitude attention: as many threads as you like give the same bits", "[ops][host]") {
  const MagnitudeSizes s{300, 8, 8};
  const Tensor qkv = random_tensor({2, s.n, magnitude_width(s)}, 14, DType::kFloat32);
  const Device one = make_cpu(1);
  const Device three = make_cpu(3);
  for (const bool causal : {false, true}) {
    const auto on = [&](const Device& device) {
      const Tensor t = trainable(qkv.copy_on(device));
      const Tensor y = attend_magnitude(t, s, {.causal = causal});
      autograd::backward(y, ops::ones_like(y));
      return std::make_pair(to_doubles(y), to_doubles(t.grad()));
    };
    CHECK(on(one) == on(three));
  }
}

TEST_CASE("magnitude attention: rows of the map on demand are rows of the map", "[ops]") {
  const MagnitudeSizes s{7, 4, 4};
  const auto [q, k, v] = views_of(random_tensor({2, s.n, magnitude_width(s)}, 16), s);
  const MagnitudeOptions options{.rotary = turns(s.n, s.dim / 2)};
  const Tensor all = ops::magnitude_map(q, k, options).scores;
  const Tensor some = ops::magnitude_map(q, k, options, 2, 3).scores;
  CHECK(max_difference(ops::slice(all, 2, 2, 3), some) < 1e-14);
  CHECK_THROWS_WITH(ops::magnitude_map(q, k, {.causal = true}, 2, 3),
                    Catch::Contains("a part of a causal map"));
}

TEST_CASE("magnitude attention: its time and memory are linear in the tokens", "[ops][host]") {
  const MagnitudeSizes s{0, 16, 16};
  const auto peak = [&](std::int64_t n) {
    const Device device = make_cpu(1);
    const Tensor qkv =
        trainable(random_tensor({1, n, magnitude_width(s)}, 17, DType::kFloat32).copy_on(device));
    device.allocator().reset_peak();
    const std::int64_t before = device.allocator().stats().peak_bytes;
    autograd::backward(ops::sum(attend_magnitude(qkv, s, {})));
    return static_cast<double>(device.allocator().stats().peak_bytes - before);
  };
  CHECK(peak(8192) < 2.2 * peak(4096));
  CHECK(peak(8192) < 0.05 * 8192 * 8192 * 4);  // far from a map
}

TEST_CASE("rotate: pairs of every head, and back", "[ops]") {
  const Tensor x = random_tensor({2, 5, 12}, 18);
  const ops::RotaryTables tables = turns(5, 3);
  const Tensor y = ops::rotate(x, tables);
  check_gradients([&](const auto& t) { return ops::rotate(t[0], tables); }, {x});
  const auto at = [](const Tensor& t, std::int64_t i) {
    return to_doubles(t)[static_cast<std::size_t>(i)];
  };
  // Token 1 of item 1, second head, pair 2: channels 10 and 11.
  const std::int64_t first = (1 * 5 + 1) * 12 + 6 + 4;
  const double c = at(tables.cos, 1 * 3 + 2);
  const double n = at(tables.sin, 1 * 3 + 2);
  CHECK(at(y, first) == Approx(at(x, first) * c - at(x, first + 1) * n));
  CHECK(at(y, first + 1) == Approx(at(x, first) * n + at(x, first + 1) * c));
  const Tensor back = ops::rotate(y, {tables.cos, ops::neg(tables.sin)});
  CHECK(max_difference(back, x) < 1e-14);
  CHECK_THROWS_WITH(ops::rotate(x, turns(4, 3)), Catch::Contains("rotate: x is (2, 5, 12)"));
}
