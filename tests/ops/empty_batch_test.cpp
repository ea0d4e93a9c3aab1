// Every operation on a batch of 0: nothing crashes, the result is empty or, where it is a number,
// zero, and gradients of parameters are zeros.
#include "tests/ops/empty_batch.h"

#include "ops/attention/linear_attention.h"
#include "ops/attention/magnitude_attention.h"
#include "ops/attention/recurrent_attention.h"
#include "ops/attention/unit_attention.h"
#include "ops/conv/convolution.h"
#include "ops/conv/patch_logits.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/running_value.h"
#include "ops/scaled_sum.h"
#include "ops/shape.h"
#include "tests/support/opaque.h"

using namespace fovea;
using namespace fovea::test;

namespace fovea::test {

std::vector<Case> token_cases(const std::string& what, std::int64_t b, std::int64_t n) {
  const Shape tokens{b, n, 12};
  return {{"linear" + what,
           {tokens},
           {{5, 12}, {5}},
           [](const auto& t) { return ops::linear(t[0], t[1], t[2]); },
           {b, n, 5}},
          {"layer_norm" + what,
           {tokens},
           {{12}, {12}},
           [](const auto& t) { return ops::layer_norm(t[0], t[1], t[2], 1e-6); },
           tokens},
          {"rms_norm" + what,
           {tokens},
           {{12}},
           [](const auto& t) { return ops::rms_norm(t[0], t[1], 1e-6); },
           tokens}};
}

std::vector<Case> network_cases() {
  const Shape map{0, 4, 5, 6};
  const Shape tokens{0, 3, 12};
  const ops::AttentionOptions causal{0.5, true, {}};
  const ops::AttentionOptions padded{0.5, false, flags({0, 3})};
  std::vector<Case> cases = {
      {"matmul",
       {{0, 2, 3}, {0, 3, 4}},
       {},
       [](const auto& t) { return ops::matmul(t[0], t[1]); },
       {0, 2, 4}},
      {"matmul with a shared side",
       {{0, 2, 3}},
       {{5, 3}},
       [](const auto& t) { return ops::matmul(t[0], t[1], false, true); },
       {0, 2, 5},
       false},
      {"group_norm",
       {map},
       {{4}, {4}},
       [](const auto& t) { return ops::group_norm(t[0], 2, t[1], t[2], 1e-5); },
       map},
      {"scaled_sum",
       {map, map},
       {},
       [](const auto& t) {
         const Tensor w = ops::zeros({0, 4}, compute_dtype(t[0].dtype()), cpu());
         return ops::scaled_sum(t[0], trainable(w), t[1]);
       },
       map},
      {"conv_transpose",
       {map},
       {{4, 3, 2, 2}, {3}},
       [](const auto& t) { return ops::conv_transpose(t[0], t[1], t[2], {.stride = {2}}); },
       {0, 3, 10, 12}},
      {"token_conv",
       {{0, 6, 4}},
       {{4, 1, 3, 3}, {4}},
       [](const auto& t) { return ops::token_conv(t[0], t[1], t[2], 2, 3); },
       {0, 6, 4}},
      {"patch_logits",
       {{0, 2, 3, 4}},
       {{16, 4}, {4}, {4}, {3, 4}},
       [](const auto& t) {
         return ops::patch_logits(t[0], {t[1], t[2], t[3], t[4]}, {2, 2});
       },
       {0, 3, 4, 6}},
      {"max_pool", {map}, {}, [](const auto& t) { return ops::max_pool(t[0], {2}); }, {0, 4, 2, 3}},
      {"avg_pool", {map}, {}, [](const auto& t) { return ops::avg_pool(t[0], {2}); }, {0, 4, 2, 3}},
      {"adaptive_avg_pool",
       {map},
       {},
       [](const auto& t) {
         return ops::adaptive_avg_pool(t[0], {2, 3});
       },
       {0, 4, 2, 3}},
      {"adaptive_avg_pool of planes",
       {map},
       {},
       [](const auto& t) { return ops::adaptive_avg_pool(t[0], {1}); },
       {0, 4, 1, 1}},
      {"adaptive_max_pool",
       {map},
       {},
       [](const auto& t) { return ops::adaptive_max_pool(t[0], {1}); },
       {0, 4, 1, 1}},
      {"resize",
       {map},
       {},
       [](const auto& t) {
         return ops::resize(t[0], {7, 9}, ops::Interpolation::kLinear);
       },
       {0, 4, 7, 9}},
      {"take_heads",
       {tokens},
       {},
       [](const auto& t) { return ops::take_heads(view(t[0], 4)); },
       {0, 2, 3, 2}},
      {"merge_heads",
       {{0, 2, 3, 4}},
       {},
       [](const auto& t) { return ops::merge_heads(t[0]); },
       {0, 3, 8}},
      {"attention_map",
       {tokens},
       {},
       [=](const auto& t) { return ops::attention_map(view(t[0], 0), view(t[0], 4), padded); },
       {0, 2, 3, 3}},
      {"elu_plus_one", {tokens}, {}, [](const auto& t) { return ops::elu_plus_one(t[0]); }, tokens},
      {"linear_attention",
       {tokens},
       {},
       [=](const auto& t) {
         return ops::linear_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), {});
       },
       {0, 3, 4}},
      {"magnitude_attention",
       {tokens},
       {},
       [=](const auto& t) {
         return ops::magnitude_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), {});
       },
       {0, 3, 4}},
      {"magnitude_attention, causal",
       {tokens},
       {},
       [=](const auto& t) {
         return ops::magnitude_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8),
                                         {.causal = true});
       },
       {0, 3, 4}},
      {"features",
       {tokens},
       {},
       [](const auto& t) { return ops::features(FeatureMap::kRelu, t[0]); },
       tokens},
      {"rotate",
       {tokens},
       {},
       [](const auto& t) {
         const Tensor angles =
             ops::ones({3, 2}, compute_dtype(t[0].dtype()), Device(t[0].device()));
         return ops::rotate(t[0], {ops::cos(angles), ops::sin(angles)});
       },
       tokens},
      {"recurrent_magnitude_attention",
       {tokens},
       {},
       [=](const auto& t) {
         ops::RecurrentState state;
         return ops::recurrent_magnitude_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), {},
                                                   state);
       },
       {0, 3, 4}},
      {"recurrent_linear_attention",
       {tokens},
       {},
       [=](const auto& t) {
         ops::RecurrentState state;
         return ops::recurrent_linear_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), {},
                                                state);
       },
       {0, 3, 4}},
      {"linear_attention_map",
       {tokens},
       {},
       [=](const auto& t) { return ops::linear_attention_map(view(t[0], 0), view(t[0], 4), {}); },
       {0, 2, 3, 3}},
      {"unit_attention",
       {tokens},
       {{2, 2, 2}, {12}},
       [=](const auto& t) {
         const ops::Units units(3, 2, {0, 1, 2, -1}, {}, cpu());
         return ops::unit_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), units,
                                    {.bias = t[1], .padding_attends = true, .padding = t[2]});
       },
       {0, 3, 4}},
      {"unit_attention_map",
       {tokens},
       {},
       [=](const auto& t) {
         const ops::Units units(3, 2, {0, 1, 2, -1}, {}, cpu());
         return ops::unit_attention_map(view(t[0], 0), view(t[0], 4), units, {});
       },
       {0, 2, 2, 2, 2}},
      {"attend_units",
       {tokens},
       {},
       [=](const auto& t) {
         const ops::Units units(3, 2, {0, 1, 2, -1}, {}, cpu());
         const Tensor maps = ops::unit_attention_map(view(t[0], 0), view(t[0], 4), units, {});
         return ops::attend_units(maps, view(t[0], 8), units, {});
       },
       {0, 3, 4}},
      {"two_map_linear_attention",
       {{0, 3, 20}},
       {{2, 2}},
       [=](const auto& t) {
         return ops::two_map_linear_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8),
                                              view(t[0], 12), view(t[0], 16), t[1], {});
       },
       {0, 3, 4}},
      {"attention",
       {tokens},
       {},
       [=](const auto& t) {
         return ops::attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), causal);
       },
       {0, 3, 4}},
      {"attention of padded texts",
       {tokens},
       {},
       [=](const auto& t) {
         return ops::attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), padded);
       },
       {0, 3, 4}},
      {"two_map_attention",
       {tokens, {0, 3, 2}},
       {},
       [=](const auto& t) {
         return ops::two_map_attention(view(t[0], 0), view(t[0], 4), view(t[0], 2), view(t[0], 8),
                                       view(t[0], 0), t[1], t[1], padded);
       },
       {0, 3, 4}},
  };
  // Dense, depthwise, of one pixel, strided.
  const std::vector<std::pair<Shape, ops::ConvOptions>> convolutions = {
      {{8, 4, 3, 3}, {.padding = {1}}},
      {{4, 1, 3, 3}, {.padding = {1}, .groups = 4}},
      {{8, 4, 1, 1}, {}},
      {{8, 2, 3, 3}, {.stride = {2}, .padding = {1}, .groups = 2}}};
  for (const auto& [weight, options] : convolutions) {
    const std::int64_t stride = options.stride[0];
    cases.push_back({"conv",
                     {map},
                     {weight, {weight[0]}},
                     [o = options](const auto& t) { return ops::conv(t[0], t[1], t[2], o); },
                     {0, weight[0], (5 + stride - 1) / stride, (6 + stride - 1) / stride}});
  }
  cases.push_back({"shared_batch_norm",
                   {map, map},
                   {{4}, {4}},
                   [=](const auto& t) {
                     return ops::shared_batch_norm(whole_batch(), norm_of(t[2], t[3], true), t[0],
                                                   t[1], true);
                   },
                   map});
  for (const bool training : {true, false}) {
    cases.push_back({"batch_norm",
                     {map, map},
                     {{4}, {4}},
                     [=](const auto& t) {
                       return ops::batch_norm(norm_of(t[2], t[3], training), t[0], t[1], true);
                     },
                     map});
    cases.push_back({"running_value",
                     {map, map},
                     {{4, 1, 3, 3}, {4}, {4}},
                     [=](const auto& t) {
                       const Tensor w = ops::zeros({0, 4}, t[2].dtype(), cpu());
                       const ops::RunningValue value =
                           ops::running_value(norm_of(t[3], t[4], training), {}, t[0], trainable(w),
                                              t[1], t[2], trainable(ops::clone(w)));
                       CHECK(value.sum.shape() == t[0].shape());
                       return value.y;
                     },
                     map});
  }
  return cases;
}

}  // namespace fovea::test

namespace {

void check_case(const Case& one, DType dtype) {
  CAPTURE(one.name, name_of(dtype));
  Inputs inputs;
  for (const Shape& shape : one.data)
    inputs.push_back(
        trainable(ops::cast(ops::ones(shape, DType::kFloat32, cpu()), dtype).detach()));
  for (const Shape& shape : one.parameters)
    inputs.push_back(trainable(ops::ones(shape, compute_dtype(dtype), cpu())));
  const Tensor y = one.run(inputs);
  CHECK(y.shape() == one.result);
  const bool joined = one.name == "concat" && y.numel() > 0;
  if (!joined && is_floating(y.dtype())) {
    for (const double value : to_doubles(y.detach())) CHECK(value == 0);
  }
  if (!y.requires_grad()) return;
  autograd::backward(y, ops::ones_like(y));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    if (!inputs[i].grad().defined()) {
      CHECK(inputs[i].numel() == 0);
      continue;
    }
    CHECK(inputs[i].grad().shape() == inputs[i].shape());
    for (const double value : to_doubles(inputs[i].grad())) CHECK(value == (joined ? 1 : 0));
  }
}

}  // namespace

TEST_CASE("empty batch: every operation, forward and backward", "[ops]") {
  const DType dtype = GENERATE(DType::kFloat64, DType::kFloat32, DType::kBFloat16);
  for (const Case& one : all_cases()) {
    if (dtype != DType::kBFloat16 || one.stored) check_case(one, dtype);
  }
}

TEST_CASE("empty batch: kernels that are made of primitives take it too", "[ops]") {
  const InPlaceOfCpu only_primitives(make_opaque(OpaqueKernels::kPrimitives));
  const DType dtype = GENERATE(DType::kFloat64, DType::kFloat32, DType::kBFloat16);
  for (const Case& one : all_cases()) {
    if (dtype != DType::kBFloat16 || one.stored) check_case(one, dtype);
  }
}

TEST_CASE("empty batch: training leaves running statistics as they are", "[ops]") {
  const Tensor mean = ops::full({3}, 0.25, DType::kFloat32, cpu());
  const Tensor var = ops::full({3}, 4, DType::kFloat32, cpu());
  const ops::BatchNorm norm{{}, {}, mean, var, true};
  const Tensor y = ops::batch_norm(norm, ops::zeros({0, 3, 2}, DType::kFloat32, cpu()));
  CHECK(y.shape() == Shape{0, 3, 2});
  CHECK(to_doubles(mean) == std::vector<double>(3, 0.25));
  CHECK(to_doubles(var) == std::vector<double>(3, 4));
}

TEST_CASE("empty batch: maxima of nothing are refused", "[ops]") {
  const Tensor x = ops::zeros({0, 3}, DType::kFloat32, cpu());
  CHECK_THROWS_WITH(ops::max(x), Catch::Contains("at least one element on every reduced axis"));
  CHECK_THROWS_WITH(ops::min(x, {0}), Catch::Contains("at least one element"));
}

TEST_CASE("attention without keys is zero, and so are its gradients", "[ops][attention]") {
  const bool causal = GENERATE(false, true);
  const Tensor q = trainable(ops::ones({2, 3, 4}, DType::kFloat32, cpu()));
  const Tensor k = trainable(ops::ones({2, 0, 4}, DType::kFloat32, cpu()));
  const Tensor y = ops::attention(view(q, 0), view(k, 0), view(k, 0), {0.5, causal, {}});
  autograd::backward(y, ops::ones_like(y));
  CHECK(to_doubles(y.detach()) == std::vector<double>(24, 0.0));
  CHECK(to_doubles(q.grad()) == std::vector<double>(24, 0.0));
}
