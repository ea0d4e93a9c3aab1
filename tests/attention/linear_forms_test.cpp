// The attentions around MALA: what they are, written out with maps, and what holds of them
// (mala 3.8, 10).
#include "attention/linear_forms.h"

#include <cmath>

#include "ops/attention/linear_attention.h"
#include "ops/attention/magnitude_attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr std::int64_t kHeads = 2, kHeadDim = 3, kWidth = kHeads * kHeadDim, kRows = 7;

struct FormInputs {
  Tensor q, k, v;  // (b, n, heads * dim)
};

FormInputs form_inputs() {
  return {random_tensor({2, kRows, kWidth}, 1), random_tensor({2, kRows, kWidth}, 2),
          random_tensor({2, kRows, kWidth}, 3)};
}

ops::HeadView in_heads(const Tensor& x) { return ops::heads(x, kHeads, kHeadDim, 0, kHeadDim); }

Tensor applied(const Tensor& map, const Tensor& v) {
  return ops::merge_heads(ops::matmul(map, ops::take_heads(in_heads(v))));
}

// Every form with its map, from tokens.
struct FormUnderTest {
  const char* name;
  Tensor (*y)(const FormInputs&);
  Tensor (*map)(const FormInputs&);
  bool stochastic;
  bool applies_map;  // y is map times v, and nothing else
};

ops::LinearAttentionOptions of_features(double eps) {
  return {.feature_map = FeatureMap::kNone, .eps = eps};
}

template <FeatureMap F>
Tensor linear_form(const FormInputs& in) {
  return ops::linear_attention(in_heads(in.q), in_heads(in.k), in_heads(in.v), {.feature_map = F});
}
template <FeatureMap F>
Tensor linear_form_map(const FormInputs& in) {
  return ops::linear_attention_map(in_heads(in.q), in_heads(in.k), {.feature_map = F});
}

Tensor efficient_form(const FormInputs& in) {
  return ops::linear_attention(in_heads(attention::efficient_queries(in.q, kHeadDim)),
                               in_heads(attention::efficient_keys(in.k)), in_heads(in.v),
                               of_features(0));
}

// softmax over features of q, times softmax over tokens of k: no division.
Tensor efficient_map(const FormInputs& in) {
  const Tensor q = ops::softmax(ops::take_heads(in_heads(in.q)));
  const Tensor k = ops::softmax(ops::transpose(ops::take_heads(in_heads(in.k)), 2, 3));
  return ops::matmul(q, k);
}

Tensor angular_form(const FormInputs& in) {
  return attention::angular_attention(in_heads(in.q), in_heads(in.k), in_heads(in.v));
}
Tensor angular_form_map(const FormInputs& in) {
  return attention::angular_map(in_heads(in.q), in_heads(in.k));
}

Tensor inline_form(const FormInputs& in) {
  return attention::inline_attention(in_heads(in.q), in_heads(in.k), in_heads(in.v));
}

// The definition: Sim less the mean of its row, plus 1/n.
Tensor inline_definition(const FormInputs& in) {
  const Tensor sim = ops::mul(
      ops::matmul(ops::take_heads(in_heads(in.q)), ops::take_heads(in_heads(in.k)), false, true),
      1 / (std::sqrt(3.0) * kRows));
  return ops::add(ops::sub(sim, ops::mean(sim, {-1}, true)), 1.0 / kRows);
}

Tensor hydra_form(const FormInputs& in) { return attention::hydra_attention(in.q, in.k, in.v); }

const std::vector<FormUnderTest>& forms() {
  static const std::vector<FormUnderTest> all = {
      {"linear, elu1", linear_form<FeatureMap::kEluPlusOne>,
       linear_form_map<FeatureMap::kEluPlusOne>, true, true},
      {"linear, relu", linear_form<FeatureMap::kRelu>, linear_form_map<FeatureMap::kRelu>, false,
       true},
      {"linear, exp", linear_form<FeatureMap::kExp>, linear_form_map<FeatureMap::kExp>, true, true},
      {"efficient", efficient_form, efficient_map, true, true},
      {"inline", inline_form, inline_definition, true, true},
      {"angular", angular_form, angular_form_map, false, false},
      {"hydra", hydra_form, nullptr, false, false}};
  return all;
}

Tensor in_reverse(const Tensor& x) { return ops::flip(x, 1); }

}  // namespace

TEST_CASE("linear forms: each is its map times the values, and rows sum to one", "[attention]") {
  const FormInputs in = form_inputs();
  for (const FormUnderTest& form : forms()) {
    INFO(form.name);
    if (form.applies_map) CHECK(max_difference(form.y(in), applied(form.map(in), in.v)) < 1e-12);
    if (!form.stochastic) continue;
    for (const double sum : to_doubles(ops::sum(form.map(in), {-1})))
      CHECK(sum == Approx(1).margin(1e-6));
    // So a constant value comes out as it went in.
    const FormInputs constant{in.q, in.k, ops::full(in.v.shape(), 3, DType::kFloat64, cpu())};
    CHECK(max_difference(form.y(constant), constant.v) < 1e-5);
  }
}

TEST_CASE("linear forms: order of keys is nothing, order of queries that of rows", "[attention]") {
  const FormInputs in = form_inputs();
  for (const FormUnderTest& form : forms()) {
    INFO(form.name);
    if (std::string(form.name) != "angular") {  // which adds each value to its own row
      CHECK(max_difference(form.y({in.q, in_reverse(in.k), in_reverse(in.v)}), form.y(in)) < 1e-12);
      CHECK(max_difference(form.y({in_reverse(in.q), in.k, in.v}), in_reverse(form.y(in))) < 1e-12);
    }
    CHECK(max_difference(form.y({in_reverse(in.q), in_reverse(in.k), in_reverse(in.v)}),
                         in_reverse(form.y(in))) < 1e-12);
  }
}

TEST_CASE("linear forms: which of them see the length of a query", "[attention]") {
  const FormInputs in = form_inputs();
  const FormInputs longer{ops::mul(in.q, 4), in.k, in.v};
  for (const FormUnderTest& form : forms()) {
    INFO(form.name);
    const std::string name = form.name;
    const double change = max_difference(form.y(in), form.y(longer));
    // phi(a q) = a phi(q) for relu alone, up to the 1e-6 of the denominators.
    if (name == "linear, relu" || name == "angular" || name == "hydra") {
      CHECK(change < 1e-4);
    } else {
      CHECK(change > 1e-2);
    }
  }
  // The length of the features themselves is never seen.
  const Tensor phi = ops::elu_plus_one(in.q);
  const auto keys = in_heads(ops::elu_plus_one(in.k));
  CHECK(max_difference(
            ops::linear_attention_map(in_heads(phi), keys, of_features(0)),
            ops::linear_attention_map(in_heads(ops::mul(phi, 4)), keys, of_features(0))) < 1e-15);
}

TEST_CASE("linear forms: gradients", "[attention]") {
  for (const FormUnderTest& form : forms()) {
    INFO(form.name);
    const Tensor q = away_from_zero({2, kRows, kWidth}, 1);
    const Tensor k = away_from_zero({2, kRows, kWidth}, 2);
    check_gradients(
        [&](const auto& t) {
          return form.y({t[0], t[1], t[2]});
        },
        {q, k, random_tensor({2, kRows, kWidth}, 3)});
  }
}

TEST_CASE("inline: less MALA it is 1/n less the similarity's share of its row", "[attention]") {
  const FormInputs in = form_inputs();
  // Positive features, so that shares are.
  const ops::HeadView q = in_heads(ops::exp(in.q)), k = in_heads(ops::exp(in.k));
  const auto mala = ops::magnitude_map(q, k, {.feature_map = FeatureMap::kNone, .eps = 0});
  const Tensor shares = ops::linear_attention_map(q, k, of_features(0));
  const Tensor difference = ops::sub(attention::inline_map(q, k), mala.scores);
  CHECK(max_difference(difference, ops::add(ops::neg(shares), 1.0 / kRows)) < 1e-12);
}

TEST_CASE("hydra: a head for every channel, whose map is q_ic k_jc", "[attention]") {
  const FormInputs in = form_inputs();
  const Tensor q = attention::unit_vectors(in.q, kWidth);
  const Tensor k = attention::unit_vectors(in.k, kWidth);
  const auto channels = [](const Tensor& x) {
    return ops::take_heads(ops::heads(x, kWidth, 1, 0, 1));
  };
  const Tensor maps = ops::matmul(channels(q), channels(k), false, true);  // (b, dim, n, n)
  const Tensor y = ops::merge_heads(ops::matmul(maps, channels(in.v)));
  CHECK(max_difference(hydra_form(in), y) < 1e-14);
}

TEST_CASE("unit vectors: length one, of any length before, and zeros of zeros", "[attention]") {
  const Tensor x = random_tensor({2, 5, 6}, 4);
  const auto lengths = [](const Tensor& units) {
    return to_doubles(ops::sum(ops::square(ops::reshape(units, {2, 5, 2, 3})), {-1}));
  };
  for (const double length : lengths(attention::unit_vectors(x, 3))) CHECK(length == Approx(1));
  const Tensor small = ops::cast(ops::mul(x, 1e-8), DType::kFloat32);
  for (const double length : lengths(attention::unit_vectors(small, 3)))
    CHECK(length == Approx(1).margin(1e-5));
  const Tensor none = ops::zeros({1, 2, 6}, DType::kFloat32, cpu());
  CHECK(max_difference(attention::unit_vectors(none, 3), none) == 0);
}

TEST_CASE("focused: keeps lengths, sharpens directions, of small features too", "[attention]") {
  const Tensor x = away_from_zero({2, 5, 6}, 5);
  const Tensor scale = ops::full({1, 1, 6}, 0.7, DType::kFloat64, cpu());
  const Tensor t = ops::mul(ops::add(ops::relu(x), 1e-6), 1 / 0.7);
  const auto lengths = [](const Tensor& of) {
    return ops::sqrt(ops::sum(ops::square(of), {-1}, true));
  };
  const Tensor cubes = ops::mul(ops::square(t), t);
  const Tensor expected = ops::mul(ops::div(cubes, lengths(cubes)), lengths(t));
  CHECK(max_difference(attention::focused(x, scale, 3), expected) < 1e-12);
  CHECK(max_difference(attention::focused(x, scale, 3), attention::focused(x, scale, 3.0000001)) <
        1e-5);
  check_gradients([&](const auto& in) { return attention::focused(in[0], in[1], 3); },
                  {x, uniform_tensor({1, 1, 6}, 0.5, 1, 6)});
  // Nothing above 0: 1e-6 cubed is lost in float32, its direction is not.
  const Tensor nothing = ops::full({1, 1, 6}, -1, DType::kFloat32, cpu());
  const Tensor ones = ops::ones({1, 1, 6}, DType::kFloat32, cpu());
  const Tensor even = ops::full({1, 1, 6}, 1e-6, DType::kFloat32, cpu());
  CHECK(max_difference(attention::focused(nothing, ones, 3), even) < 1e-12);
}

TEST_CASE("angular: with the sparse map it is that of training", "[attention]") {
  const FormInputs in = form_inputs();
  const auto q = in_heads(in.q), k = in_heads(in.k), v = in_heads(in.v);
  const Tensor sparse = attention::sparse_map(q, k);
  const Tensor soft = ops::attention_map(q, k, {1 / std::sqrt(3.0), false, {}});
  std::int64_t dropped = 0;
  const auto kept = to_doubles(sparse);
  const auto all = to_doubles(soft);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(kept[i] == (all[i] > 0.02 ? all[i] : 0));
    dropped += all[i] <= 0.02 ? 1 : 0;
  }
  CHECK(dropped > 0);
  const Tensor map = ops::add(attention::angular_map(q, k), sparse);
  const Tensor y = ops::matmul(map, ops::take_heads(v));
  CHECK(max_difference(attention::angular_attention(q, k, v, sparse),
                       ops::merge_heads(attention::unit_vectors(y, kHeadDim))) < 1e-12);
}
