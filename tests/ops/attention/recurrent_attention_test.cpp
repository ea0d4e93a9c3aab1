#include "ops/attention/recurrent_attention.h"

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using ops::Coefficient;
using ops::HeadView;
using ops::RotaryTables;
using ops::SimilarityScale;

namespace {

constexpr std::int64_t kStepTokens = 150, kStepHeads = 2, kStepDim = 4, kStepWidth = 3;

Tensor step_projection(DType dtype = DType::kFloat64) {
  return random_tensor({2, kStepTokens, kStepHeads * (2 * kStepDim + kStepWidth)}, 15, dtype);
}

RotaryTables step_angles(DType dtype = DType::kFloat64) {
  const Tensor angles = random_tensor({kStepTokens, kStepDim / 2}, 77, dtype);
  return {ops::cos(angles), ops::sin(angles)};
}

// The largest difference, relative to what is expected: where sums are not divided by the number of
// keys, or are near 0, results are large.
double step_difference(const Tensor& y, const Tensor& expected) {
  return max_difference(y, expected) / std::max(1.0, largest(to_doubles(expected)));
}

// Calls attend(q, k, v, first token, tokens) for the heads of some tokens.
template <class Attend>
Tensor attend_step(const Tensor& qkv, std::int64_t first, std::int64_t n, const Attend& attend) {
  const Tensor part = ops::slice(qkv, 1, first, n);
  return attend(ops::heads(part, kStepHeads, kStepDim, 0, kStepDim),
                ops::heads(part, kStepHeads, kStepDim, kStepHeads * kStepDim, kStepDim),
                ops::heads(part, kStepHeads, kStepWidth, 2 * kStepHeads * kStepDim, kStepWidth));
}

RotaryTables step_tables(const RotaryTables& tables, std::int64_t first, std::int64_t n) {
  if (!tables.cos.defined()) return {};
  return {tables.cos.rows(first, first + n), tables.sin.rows(first, first + n)};
}

// The tokens in parts of the given length.
template <class Options, class Attend>
Tensor in_steps(const Tensor& qkv, const Options& options, std::int64_t length,
                ops::RecurrentState& state, const Attend& attend) {
  std::vector<Tensor> rows;
  for (std::int64_t first = 0; first < kStepTokens; first += length) {
    const std::int64_t n = std::min(length, kStepTokens - first);
    Options here = options;
    here.rotary = step_tables(options.rotary, first, n);
    rows.push_back(attend_step(qkv, first, n, [&](const auto& q, const auto& k, const auto& v) {
      return attend(q, k, v, here, state);
    }));
  }
  return ops::concat(rows, 1);
}

std::vector<ops::MagnitudeOptions> step_options() {
  return {{.causal = true},
          {.scale = SimilarityScale::kNone, .causal = true},
          {.feature_map = FeatureMap::kRelu, .causal = true},
          {.feature_map = FeatureMap::kExp, .causal = true},
          {.beta = Coefficient::kNone, .causal = true},
          {.gamma = Coefficient::kNone, .causal = true},
          {.causal = true, .rotary = step_angles()},
          {.normaliser = ops::Normaliser::kRotated, .causal = true, .rotary = step_angles()}};
}

}  // namespace

TEST_CASE("recurrent attention: parts of any length are the causal form", "[ops]") {
  const Tensor qkv = step_projection();
  const std::int64_t length = GENERATE(1, 3, 64, 100, kStepTokens);
  INFO(length);
  for (const ops::MagnitudeOptions& options : step_options()) {
    ops::RecurrentState state;
    const Tensor y = in_steps(qkv, options, length, state, ops::recurrent_magnitude_attention);
    const Tensor expected =
        attend_step(qkv, 0, kStepTokens, [&](const auto& q, const auto& k, const auto& v) {
          return ops::magnitude_attention(q, k, v, options);
        });
    CHECK(state.tokens == kStepTokens);
    CHECK(step_difference(y, expected) < 1e-12);
  }
  for (const RotaryTables& rotary : {RotaryTables{}, step_angles()}) {
    const ops::LinearAttentionOptions options{.causal = true, .rotary = rotary};
    ops::RecurrentState state;
    const Tensor y = in_steps(qkv, options, length, state, ops::recurrent_linear_attention);
    const Tensor expected =
        attend_step(qkv, 0, kStepTokens, [&](const auto& q, const auto& k, const auto& v) {
          return ops::linear_attention(q, k, v, options);
        });
    CHECK_FALSE(state.sums.values.defined());
    CHECK(step_difference(y, expected) < 1e-12);
  }
}

TEST_CASE("recurrent attention: the first result is the first value", "[ops]") {
  const Tensor qkv = step_projection();
  ops::RecurrentState state;
  const ops::MagnitudeOptions options{.eps = 0, .causal = true};
  const Tensor y = attend_step(qkv, 0, 1, [&](const auto& q, const auto& k, const auto& v) {
    return ops::recurrent_magnitude_attention(q, k, v, options, state);
  });
  CHECK(max_difference(y, ops::slice(ops::slice(qkv, 1, 0, 1), -1, 2 * kStepHeads * kStepDim,
                                     kStepHeads * kStepWidth)) < 1e-14);
}

TEST_CASE("recurrent attention: a later token changes no bit of earlier results", "[ops]") {
  const Tensor qkv = step_projection();
  const Tensor changed = ops::concat(
      {ops::slice(qkv, 1, 0, 90), ops::mul(ops::slice(qkv, 1, 90, kStepTokens - 90), 3)}, 1);
  const ops::MagnitudeOptions options{.causal = true};
  const auto first_rows = [&](const Tensor& x) {
    ops::RecurrentState state;
    const Tensor y = in_steps(x, options, 1, state, ops::recurrent_magnitude_attention);
    return to_doubles(ops::slice(y, 1, 0, 90));
  };
  CHECK(first_rows(qkv) == first_rows(changed));
}

TEST_CASE("recurrent attention: states are float32 under bfloat16 tokens", "[ops]") {
  const Tensor qkv = ops::cast(step_projection(DType::kFloat32), DType::kBFloat16);
  ops::RecurrentState state;
  const ops::MagnitudeOptions options{.causal = true};
  const Tensor y = in_steps(qkv, options, 10, state, ops::recurrent_magnitude_attention);
  CHECK(y.dtype() == DType::kBFloat16);
  CHECK(state.sums.products.dtype() == DType::kFloat32);
  const Tensor expected = attend_step(ops::cast(qkv, DType::kFloat32), 0, kStepTokens,
                                      [&](const auto& q, const auto& k, const auto& v) {
                                        return ops::magnitude_attention(q, k, v, options);
                                      });
  CHECK(max_difference(ops::cast(y, DType::kFloat32), expected) < 0.05);
}

TEST_CASE("recurrent attention: what does not fit is refused", "[ops]") {
  const Tensor qkv = step_projection();
  ops::RecurrentState state;
  const auto attend = [&](const Tensor& x, const ops::MagnitudeOptions& options) {
    attend_step(x, 0, 2, [&](const auto& q, const auto& k, const auto& v) {
      return ops::recurrent_magnitude_attention(q, k, v, options, state);
    });
  };
  CHECK_THROWS_WITH(attend(qkv, {.beta = Coefficient::kGiven}),
                    Catch::Contains("beta or gamma is given"));
  CHECK_THROWS_WITH(attend(qkv, {.key_mask = random_tensor({2, 2}, 1)}),
                    Catch::Contains("key_mask is given; expected none"));
  attend(qkv, {});
  CHECK_THROWS_WITH(attend(qkv.rows(0, 1), {}), Catch::Contains("the state is (2, 2, 4, 3)"));
}
