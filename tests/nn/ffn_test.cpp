#include "nn/ffn.h"

#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::unique_ptr<nn::FeedForward> mix_ffn(DType dtype) {
  const schema::Component component{
      "mix_ffn", schema::Value::object({{"type", "mix_ffn"}, {"expansion", 2.0}})};
  return nn::make_ffn(component, {cpu(), dtype, RandomStream(5), nn::Init::kTorch}, 3, 0);
}

}  // namespace

TEST_CASE("mix_ffn: names and shapes of parameters are PVTv2's", "[nn]") {
  const auto ffn = mix_ffn(DType::kFloat32);
  std::vector<std::string> names;
  for (const nn::NamedTensor& named : ffn->parameters())
    names.push_back(named.name + " " + to_string(named.tensor.shape()));
  CHECK(names == std::vector<std::string>{"fc1.weight (6, 3)", "fc1.bias (6)", "fc2.weight (3, 6)",
                                          "fc2.bias (3)", "dwconv.dwconv.weight (6, 1, 3, 3)",
                                          "dwconv.dwconv.bias (6)"});
}

TEST_CASE("mix_ffn: its equation, and gradients of input and parameters", "[nn]") {
  const auto ffn = mix_ffn(DType::kFloat64);
  const nn::Grid grid{3, 4};
  const Tensor x = random_tensor({2, 12, 3}, 1);
  std::vector<Tensor> inputs{x};
  for (const nn::NamedTensor& named : ffn->parameters()) inputs.push_back(named.tensor);
  const Tensor hidden =
      ops::token_conv(ops::linear(x, inputs[1], inputs[2]), inputs[5], inputs[6], 3, 4);
  const Tensor expected = ops::linear(ops::gelu(hidden), inputs[3], inputs[4]);
  CHECK(max_difference((*ffn)(x, grid), expected) < 1e-12);
  check_gradients([&](const auto& t) { return (*ffn)(t[0], grid); }, inputs);
}

TEST_CASE("mix_ffn: tokens before the grid go past the convolution", "[nn]") {
  const auto ffn = mix_ffn(DType::kFloat64);
  const nn::Grid grid{3, 4, 2};
  const Tensor x = random_tensor({2, 14, 3}, 2);
  std::vector<Tensor> inputs{x};
  for (const nn::NamedTensor& named : ffn->parameters()) inputs.push_back(named.tensor);
  const Tensor y = (*ffn)(x, grid);
  const Tensor cells = (*ffn)(ops::slice(x, 1, 2, 12), {3, 4});
  CHECK(max_difference(ops::slice(y, 1, 2, 12), cells) < 1e-14);
  const Tensor before = ops::linear(
      ops::gelu(ops::linear(ops::slice(x, 1, 0, 2), inputs[1], inputs[2])), inputs[3], inputs[4]);
  CHECK(max_difference(ops::slice(y, 1, 0, 2), before) < 1e-14);
  check_gradients([&](const auto& t) { return (*ffn)(t[0], grid); }, inputs);
}

TEST_CASE("mix_ffn: tokens that do not fill the grid are refused", "[nn]") {
  const auto ffn = mix_ffn(DType::kFloat32);
  const Tensor x = random_tensor({2, 12, 3}, 1, DType::kFloat32);
  CHECK_THROWS_AS((*ffn)(x, {3, 3}), ShapeError);
  CHECK_THROWS_WITH((*ffn)(x), Catch::Contains("mix_ffn: 12 tokens on a grid of 0 x 0"));
}

TEST_CASE("mix_ffn: a ReLU before the convolution where asked for; timm's names", "[nn]") {
  const schema::Component component{
      "mix_ffn",
      schema::Value::object({{"type", "mix_ffn"}, {"expansion", 2.0}, {"relu_first", true}})};
  const auto ffn =
      nn::make_ffn(component, {cpu(), DType::kFloat64, RandomStream(5), nn::Init::kTorch}, 3, 0);
  std::vector<Tensor> p;
  for (const nn::NamedTensor& named : ffn->parameters()) p.push_back(named.tensor);
  const Tensor x = random_tensor({2, 12, 3}, 1);
  const Tensor hidden = ops::token_conv(ops::relu(ops::linear(x, p[0], p[1])), p[4], p[5], 3, 4);
  CHECK(max_difference((*ffn)(x, {3, 4}), ops::linear(ops::gelu(hidden), p[2], p[3])) < 1e-12);
  CHECK(ffn->own_name("dwconv.weight") == "dwconv.dwconv.weight");
  CHECK(ffn->own_name("dwconv.dwconv.bias") == "dwconv.dwconv.bias");
}

TEST_CASE("gated_mix_ffn: its equation, gradients, and 12 C^2 + 88 C parameters", "[nn]") {
  const schema::Component component{"gated_mix_ffn",
                                    schema::Value::object({{"type", "gated_mix_ffn"}})};
  const auto ffn =
      nn::make_ffn(component, {cpu(), DType::kFloat64, RandomStream(5), nn::Init::kTorch}, 2, 0);
  CHECK(ffn->parameter_count() == 12 * 4 + 88 * 2);
  const nn::Grid grid{2, 3};
  std::vector<Tensor> inputs{random_tensor({2, 6, 2}, 1)};
  for (const nn::NamedTensor& named : ffn->parameters()) inputs.push_back(named.tensor);
  const auto as_rows = [](const Tensor& weight) {
    return ops::reshape(weight, {weight.size(0), weight.size(1)});
  };
  const Tensor hidden = ops::silu(ops::linear(inputs[0], as_rows(inputs[1]), inputs[2]));
  const Tensor mixed = ops::token_conv(hidden, inputs[3], inputs[4], 2, 3);
  const Tensor gated =
      ops::mul(ops::slice(mixed, -1, 0, 8), ops::silu(ops::slice(mixed, -1, 8, 8)));
  CHECK(max_difference((*ffn)(inputs[0], grid), ops::linear(gated, as_rows(inputs[5]))) < 1e-12);
  check_gradients([&](const auto& t) { return (*ffn)(t[0], grid); }, inputs);
}

TEST_CASE("swiglu: fc1 in two layers is the packed one, cut", "[nn]") {
  const auto make = [](bool packed) {
    const schema::Component component{
        "swiglu",
        schema::Value::object({{"type", "swiglu"}, {"expansion", 4.0}, {"packed", packed}})};
    return nn::make_ffn(component, {cpu(), DType::kFloat64, RandomStream(5), nn::Init::kTorch}, 3,
                        0);
  };
  const auto whole = make(true), split = make(false);
  std::map<std::string, Tensor> own;
  for (const nn::NamedTensor& named : whole->parameters()) own[named.name] = named.tensor;
  std::vector<std::string> names;
  for (const nn::NamedTensor& named : split->parameters()) {
    names.push_back(named.name);
    const std::string kind = named.name.substr(named.name.find('.'));
    const Tensor from = named.name.starts_with("fc2") ? own.at("fc2" + kind)
                        : named.name.starts_with("fc1_g")
                            ? ops::slice(own.at("fc1" + kind), 0, 0, 6)
                            : ops::slice(own.at("fc1" + kind), 0, 6, 6);
    named.tensor.upload(to_doubles(from).data());
  }
  CHECK(names == std::vector<std::string>{"fc1_g.weight", "fc1_g.bias", "fc1_x.weight",
                                          "fc1_x.bias", "fc2.weight", "fc2.bias"});
  const Tensor x = random_tensor({2, 5, 3}, 1);
  CHECK(max_difference((*whole)(x), (*split)(x)) < 1e-14);
}

TEST_CASE("ffn: without gradients the hidden layer is there once, and the input goes with fc1",
          "[nn][host]") {
  const Device device = make_cpu(1);
  const schema::Component component{"mlp", schema::Value::object({{"type", "mlp"}})};
  const auto ffn =
      nn::make_ffn(component, {device, DType::kFloat32, RandomStream(5), nn::Init::kTorch}, 64, 0);
  const autograd::NoGrad no_grad;
  const auto bytes = [&] { return device.allocator().stats().bytes_in_use; };
  const std::int64_t before = bytes();
  Tensor x = Tensor::from(std::vector<float>(64 * 512, 0.5F), {1, 512, 64}, device);
  const std::int64_t input = bytes() - before;
  device.allocator().reset_peak();
  const Tensor y = (*ffn)(std::move(x), {});
  CHECK(y.shape() == Shape{1, 512, 64});
  // fc1 reads the input and writes 4 times as much; scratch of products is small beside it.
  CHECK(device.allocator().stats().peak_bytes - before < 6 * input);
}
