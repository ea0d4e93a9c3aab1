#include "nn/convolution.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "nn/embedding.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

nn::Build build(nn::Init init = nn::Init::kTorch, DType dtype = DType::kFloat64) {
  return {cpu(), dtype, RandomStream(5), init};
}

Tensor value_of(const nn::Module& module, const std::string& name) {
  for (const nn::NamedTensor& named : module.parameters()) {
    if (named.name == name) return named.tensor;
  }
  return {};
}

double root_mean_square(const Tensor& x) {
  double sum = 0;
  for (const double value : to_doubles(x)) sum += value * value;
  return std::sqrt(sum / static_cast<double>(x.numel()));
}

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : to_doubles(x)) most = std::max(most, std::abs(value));
  return most;
}

}  // namespace

TEST_CASE("Conv2d: names and shapes of parameters are PyTorch's", "[nn]") {
  const nn::Conv2d grouped(build(), 6, 4, {3, 5}, {.groups = 2});
  const auto parameters = grouped.parameters();
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[0].name == "weight");
  CHECK(parameters[0].tensor.shape() == Shape{4, 3, 3, 5});
  CHECK(parameters[1].name == "bias");
  CHECK(parameters[1].tensor.shape() == Shape{4});
  const nn::Conv2d square(build(), 6, 4, {3}, {}, false);
  REQUIRE(square.parameters().size() == 1);
  CHECK(square.parameters()[0].tensor.shape() == Shape{4, 6, 3, 3});
}

TEST_CASE("Conv2d: gradients of input, weight and bias with every option", "[nn]") {
  const auto options = GENERATE(ops::ConvOptions{}, ops::ConvOptions{.stride = {2}, .padding = {1}},
                                ops::ConvOptions{.padding = {2}, .dilation = {2}, .groups = 2},
                                ops::ConvOptions{.stride = {2, 1}, .padding = {0, 1}, .groups = 4});
  nn::Conv2d conv(build(), 4, 8, {3}, options);
  std::vector<Tensor> inputs{random_tensor({2, 4, 7, 5}, 1)};
  for (const nn::NamedTensor& named : conv.parameters()) inputs.push_back(named.tensor);
  check_gradients([&](const auto& t) { return conv(t[0]); }, inputs);
}

TEST_CASE("Conv2d: output is what the operation gives with its weight and bias", "[nn]") {
  const ops::ConvOptions options{.stride = {2}, .padding = {1}, .groups = 3};
  nn::Conv2d conv(build(), 3, 6, {3}, options);
  const Tensor x = random_tensor({1, 3, 6, 4}, 2);
  const Tensor y = conv(x);
  CHECK(y.shape() == Shape{1, 6, 3, 2});
  const Tensor direct = ops::conv(x, value_of(conv, "weight"), value_of(conv, "bias"), options);
  CHECK(max_difference(y, direct) == 0.0);
}

TEST_CASE("Conv2d: initial weights follow fan_in and fan_out as PyTorch takes them", "[nn]") {
  const ops::ConvOptions options{.groups = 2};
  const double fan_in = 32.0 / 2 * 9;
  const nn::Conv2d torch(build(nn::Init::kTorch), 32, 64, {3}, options);
  CHECK(largest(value_of(torch, "weight")) <= 1 / std::sqrt(fan_in));
  CHECK(root_mean_square(value_of(torch, "weight")) ==
        Approx(1 / std::sqrt(3 * fan_in)).epsilon(0.03));
  CHECK(largest(value_of(torch, "bias")) <= 1 / std::sqrt(fan_in));
  const nn::Conv2d kaiming(build(nn::Init::kKaiming), 32, 64, {3}, options);
  // fan_out is not divided by groups (kcla 2.0).
  CHECK(root_mean_square(value_of(kaiming, "weight")) ==
        Approx(std::sqrt(2 / (64.0 * 9))).epsilon(0.03));
  CHECK(largest(value_of(kaiming, "weight")) > 3 * std::sqrt(2 / (64.0 * 9)));
  CHECK(largest(value_of(kaiming, "bias")) > 0);
  const nn::Conv2d truncated(build(nn::Init::kTruncNormal), 32, 64, {3}, options);
  CHECK(root_mean_square(value_of(truncated, "weight")) == Approx(0.02).epsilon(0.03));
  CHECK(largest(value_of(truncated, "bias")) == 0);
}

TEST_CASE("Conv2d: what does not fit is refused with the numbers", "[nn]") {
  CHECK_THROWS_WITH(nn::Conv2d(build(), 6, 4, {3}, {.groups = 3}),
                    "Conv2d: 6 -> 4 channels are not divisible by groups 3");
  CHECK_THROWS_WITH(nn::Conv2d(build(), 6, 4, {3, 3, 3}),
                    "Conv2d: kernel is (3, 3, 3); expected 1 or 2 numbers");
  nn::Conv2d conv(build(), 6, 4, {3});
  CHECK_THROWS_AS(conv(random_tensor({1, 5, 4, 4}, 1)), ShapeError);
  CHECK_THROWS_AS(conv(random_tensor({1, 6, 2, 2}, 1)), ShapeError);
}

TEST_CASE("PatchEmbed: its projection is a convolution whose kernel is its stride", "[nn]") {
  nn::PatchEmbed embed(build(), 2, 3, 5);
  REQUIRE(embed.parameters().size() == 2);
  CHECK(embed.parameters()[0].name == "proj.weight");
  CHECK(embed.parameters()[0].tensor.shape() == Shape{5, 3, 2, 2});
  CHECK(embed.parameters()[1].name == "proj.bias");
  CHECK(embed(random_tensor({2, 3, 4, 6}, 1)).shape() == Shape{2, 6, 5});
}

TEST_CASE("ConvTranspose2d: doubles the sides; weight and bias are PyTorch's", "[nn]") {
  nn::ConvTranspose2d conv(build(), 6, 4, {2}, {.stride = {2}});
  CHECK(value_of(conv, "weight").shape() == Shape{6, 4, 2, 2});
  CHECK(value_of(conv, "bias").shape() == Shape{4});
  CHECK(largest(value_of(conv, "weight")) <= 1 / std::sqrt(4.0 * 4));
  CHECK(conv(random_tensor({2, 6, 3, 5}, 1)).shape() == Shape{2, 4, 6, 10});
  CHECK_THROWS_WITH(nn::ConvTranspose2d(build(), 6, 4, {2}, {.groups = 3}),
                    "ConvTranspose2d: 6 -> 4 channels are not divisible by groups 3");
}

TEST_CASE("TokenPointwise: a 1x1 convolution of every token, in groups too", "[nn]") {
  for (const std::int64_t groups : {1, 2}) {
    nn::TokenPointwise tokens(build(), 6, 4, true, groups);
    CHECK(value_of(tokens, "weight").shape() == Shape{4, 6 / groups, 1, 1});
    const Tensor x = random_tensor({2, 5, 6}, 1);
    const Tensor map = ops::reshape(ops::transpose(x, 1, 2), {2, 6, 5, 1});
    const Tensor y =
        ops::conv(map, value_of(tokens, "weight"), value_of(tokens, "bias"), {.groups = groups});
    const Tensor expected = ops::transpose(ops::reshape(y, {2, 4, 5}), 1, 2);
    CHECK(max_difference(tokens(x), expected) < 1e-12);
  }
  CHECK_THROWS_WITH(nn::TokenPointwise(build(), 6, 4, true, 3),
                    "TokenPointwise: 6 -> 4 channels are not divisible by groups 3");
}
