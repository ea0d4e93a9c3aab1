// Operations on bfloat16 activations with float32 parameters: every result and gradient is that of
// float32 up to the rounding of what is stored.
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/attention/magnitude_attention.h"
#include "ops/attention/unit_attention.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/mixed_precision.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::vector<MixedCase> cases() {
  const ops::AttentionOptions options{0.5, false, {}};
  const auto view = [](const Tensor& x, std::int64_t first) {
    return ops::heads(x, 2, 3, first, 3);
  };
  return {
      {"linear",
       {{2, 33, 20}},
       {{7, 20}, {7}},
       [](const auto& t) { return ops::linear(t[0], t[1], t[2]); }},
      {"linear, large",
       {{700, 96}},
       {{130, 96}, {130}},
       [](const auto& t) { return ops::linear(t[0], t[1], t[2]); }},
      {"linear, long inner axis",
       {{2100, 24}},
       {{40, 24}},
       [](const auto& t) { return ops::linear(t[0], t[1], {}); }},
      {"matmul",
       {{3, 5, 6}, {3, 4, 6}},
       {},
       [](const auto& t) { return ops::matmul(t[0], t[1], false, true); }},
      {"layer_norm",
       {{5, 37}},
       {{37}, {37}},
       [](const auto& t) { return ops::layer_norm(t[0], t[1], t[2], 1e-5); }},
      {"rms_norm",
       {{5, 37}},
       {{37}},
       [](const auto& t) { return ops::rms_norm(t[0], t[1], 1e-5); }},
      {"gelu", {{3, 41}}, {}, [](const auto& t) { return ops::gelu(t[0]); }},
      {"swiglu", {{3, 42}}, {}, [](const auto& t) { return ops::swiglu(t[0], false); }},
      {"swiglu", {{3, 42}, {3, 42}}, {}, [](const auto& t) { return ops::swiglu(t[0], t[1]); }},
      {"add a parameter",
       {{3, 4, 5}},
       {{1, 4, 5}},
       [](const auto& t) { return ops::add(t[0], t[1]); }},
      {"multiply by a parameter",
       {{3, 4, 5}},
       {{5}},
       [](const auto& t) { return ops::mul(t[1], t[0]); }},
      {"concat with a parameter",
       {{3, 4, 5}},
       {{3, 1, 5}},
       [](const auto& t) {
         return ops::concat({t[1], t[0]}, 1);
       }},
      {"mean", {{3, 40, 5}}, {}, [](const auto& t) { return ops::mean(t[0], {1}); }},
      {"max", {{3, 40, 5}}, {}, [](const auto& t) { return ops::max(t[0], {1}); }},
      {"softmax", {{3, 17}}, {}, [](const auto& t) { return ops::softmax(t[0], {}, false); }},
      {"slice", {{3, 8, 5}}, {}, [](const auto& t) { return ops::slice(t[0], 1, 2, 3); }},
      {"two_map_linear_attention",
       {{2, 9, 30}},
       {{2, 3}},
       [=](const auto& t) {
         return ops::two_map_linear_attention(view(t[0], 0), view(t[0], 6), view(t[0], 12),
                                              view(t[0], 18), view(t[0], 24), t[1], {});
       }},
      {"magnitude_attention",
       {{2, 19, 18}},
       {},
       [=](const auto& t) {
         return ops::magnitude_attention(view(t[0], 0), view(t[0], 6), view(t[0], 12), {});
       }},
      {"magnitude_attention, causal",
       {{2, 19, 18}},
       {},
       [=](const auto& t) {
         return ops::magnitude_attention(view(t[0], 0), view(t[0], 6), view(t[0], 12),
                                         {.causal = true});
       }},
      {"attention",
       {{2, 19, 18}},
       {},
       [=](const auto& t) {
         return ops::attention(view(t[0], 0), view(t[0], 6), view(t[0], 12), options);
       }},
      {"unit_attention",
       {{2, 7, 18}},
       {{2, 4, 4}, {18}},
       [=](const auto& t) {
         const ops::Units units(7, 4, {0, 2, 4, 6, 1, 3, 5, -1}, {}, cpu());
         return ops::unit_attention(
             view(t[0], 0), view(t[0], 6), view(t[0], 12), units,
             {.scale = 0.3, .bias = t[1], .padding_attends = true, .padding = t[2]});
       }},
      {"two_map_attention",
       {{2, 19, 12}, {2, 19, 12}, {2, 19, 6}},
       {{2, 19, 2}, {2, 19, 2}},
       [=](const auto& t) {
         return ops::two_map_attention(view(t[0], 0), view(t[1], 0), view(t[0], 6), view(t[1], 6),
                                       view(t[2], 0), t[3], t[4], options);
       }},
  };
}

}  // namespace

TEST_CASE("mixed precision: results and gradients are those of float32, rounded", "[ops]") {
  for (const MixedCase& c : cases()) check_mixed_precision(c);
}

TEST_CASE("mixed precision: dropout draws the same mask", "[ops]") {
  const Tensor x = random_tensor({4, 33}, 3, DType::kFloat32);
  const Tensor full = ops::dropout(x, 0.4, RandomStream(7));
  const Tensor half = ops::dropout(ops::cast(x, DType::kBFloat16), 0.4, RandomStream(7));
  const auto a = to_doubles(full);
  const auto b = to_doubles(half);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK((a[i] == 0) == (b[i] == 0));
}

TEST_CASE("mixed precision: rounding is to nearest even, and keeps NaN and infinity", "[ops]") {
  const float inf = std::numeric_limits<float>::infinity();
  const float step = 0x1p-7F;  // between neighbours of bfloat16 in [1, 2)
  // More elements than one vector, so that both the vector and the tail path are taken.
  std::vector<float> values(35, 1.0F);
  for (const std::size_t at : {std::size_t{0}, std::size_t{30}}) {
    values[at] = 1 + step / 2;          // tie: to even, down
    values[at + 1] = 1 + 3 * step / 2;  // tie: to even, up
    values[at + 2] = -inf;
    values[at + 3] = std::numeric_limits<float>::quiet_NaN();
  }
  const auto rounded = to_doubles(ops::cast(Tensor::from(values, {35}, cpu()), DType::kBFloat16));
  for (const std::size_t at : {std::size_t{0}, std::size_t{30}}) {
    CHECK(rounded[at] == 1);
    CHECK(rounded[at + 1] == 1 + 2 * static_cast<double>(step));
    CHECK(rounded[at + 2] == -static_cast<double>(inf));
    CHECK(std::isnan(rounded[at + 3]));
  }
}
