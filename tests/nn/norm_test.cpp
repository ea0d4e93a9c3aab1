#include "nn/norm.h"

#include <cmath>

#include "base/error.h"
#include "ops/batch_statistics.h"
#include "ops/elementwise.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

nn::Build build() { return {cpu(), DType::kFloat64, RandomStream(5), nn::Init::kTorch}; }

Tensor buffer_of(const nn::Module& module, const std::string& name) {
  for (const nn::NamedTensor& named : module.buffers()) {
    if (named.name == name) return named.tensor;
  }
  return {};
}

// (2, 2, 1, 2): channel 0 is 1 2 3 6 (mean 3, variance 3.5, unbiased 14/3), channel 1 constant.
Tensor example() {
  return Tensor::from(std::vector<double>{1, 2, 5, 5, 3, 6, 5, 5}, {2, 2, 1, 2}, cpu());
}

}  // namespace

TEST_CASE("BatchNorm2d: parameters and buffers have PyTorch's names and first values", "[nn]") {
  const nn::BatchNorm2d bn(build(), 3);
  const auto parameters = bn.parameters();
  const auto buffers = bn.buffers();
  REQUIRE(parameters.size() == 2);
  REQUIRE(buffers.size() == 3);
  CHECK(parameters[0].name == "weight");
  CHECK(to_doubles(parameters[0].tensor) == std::vector<double>{1, 1, 1});
  CHECK(parameters[1].name == "bias");
  CHECK(to_doubles(parameters[1].tensor) == std::vector<double>{0, 0, 0});
  CHECK(buffers[0].name == "running_mean");
  CHECK(to_doubles(buffers[0].tensor) == std::vector<double>{0, 0, 0});
  CHECK(buffers[1].name == "running_var");
  CHECK(to_doubles(buffers[1].tensor) == std::vector<double>{1, 1, 1});
  CHECK(buffers[2].name == "num_batches_tracked");
  CHECK(buffers[2].tensor.item<std::int64_t>() == 0);
  const nn::BatchNorm2d silent(build(), 2, {.initial_weight = 0});
  CHECK(to_doubles(silent.parameters()[0].tensor) == std::vector<double>{0, 0});
}

TEST_CASE("BatchNorm2d: training uses the batch and moves the running statistics", "[nn]") {
  nn::BatchNorm2d bn(build(), 2);
  bn.train(true);
  const auto y = to_doubles(bn(example()));
  const double rstd = 1 / std::sqrt(3.5 + 1e-5);
  const std::vector<double> expected{-2 * rstd, -rstd, 0, 0, 0, 3 * rstd, 0, 0};
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == Approx(expected[i]).margin(1e-12));
  const auto mean = to_doubles(buffer_of(bn, "running_mean"));
  const auto var = to_doubles(buffer_of(bn, "running_var"));
  CHECK(mean[0] == Approx(0.3));
  CHECK(mean[1] == Approx(0.5));
  CHECK(var[0] == Approx(0.9 + 0.1 * 14 / 3));
  CHECK(var[1] == Approx(0.9));
  bn(example());
  CHECK(to_doubles(buffer_of(bn, "running_mean"))[0] == Approx(0.57));
  CHECK(buffer_of(bn, "num_batches_tracked").item<std::int64_t>() == 2);
}

TEST_CASE("BatchNorm2d: what moves the running statistics may be kept and done later", "[nn]") {
  const auto second = [] { return ops::mul(example(), 3.0); };
  nn::BatchNorm2d at_once(build(), 2), later(build(), 2);
  at_once.train(true);
  later.train(true);
  at_once(example());
  at_once(second());
  std::vector<ops::MovedStatistics> moved;
  {
    const ops::KeepStatistics kept;
    later(second());
    later(example());
    moved = kept.moved();
  }
  REQUIRE(moved.size() == 2);
  CHECK(to_doubles(buffer_of(later, "running_mean")) == std::vector<double>{0, 0});
  CHECK(buffer_of(later, "num_batches_tracked").item<std::int64_t>() == 0);
  ops::apply(moved[1]);
  ops::apply(moved[0]);
  for (const char* name : {"running_mean", "running_var"})
    CHECK(to_doubles(buffer_of(later, name)) == to_doubles(buffer_of(at_once, name)));
  CHECK(buffer_of(later, "num_batches_tracked").item<std::int64_t>() == 2);
  later(example());  // from here on at once again
  CHECK(buffer_of(later, "num_batches_tracked").item<std::int64_t>() == 3);
}

TEST_CASE("BatchNorm2d: evaluation uses the running statistics and changes nothing", "[nn]") {
  nn::BatchNorm2d bn(build(), 2, {.eps = 0.5, .momentum = 1});
  bn.train(true);
  bn(example());  // with momentum 1 the running statistics are the batch's
  bn.train(false);
  const auto y = to_doubles(bn(ops::mul(example(), 2)));
  CHECK(y[0] == Approx((2 - 3) / std::sqrt(14.0 / 3 + 0.5)));
  CHECK(y[2] == Approx((10 - 5) / std::sqrt(0.5)));
  CHECK(to_doubles(buffer_of(bn, "running_mean")) == std::vector<double>{3, 5});
  CHECK(buffer_of(bn, "num_batches_tracked").item<std::int64_t>() == 1);
}

TEST_CASE("BatchNorm2d: gradients of input, weight and bias in both modes", "[nn]") {
  const bool training = GENERATE(true, false);
  nn::BatchNorm2d bn(build(), 3);
  bn.train(true);
  bn(random_tensor({4, 3, 2, 2}, 3));
  bn.train(training);
  std::vector<Tensor> inputs{random_tensor({2, 3, 3, 5}, 1)};
  for (const nn::NamedTensor& named : bn.parameters()) inputs.push_back(named.tensor);
  check_gradients([&](const auto& t) { return bn(t[0]); }, inputs);
}

TEST_CASE("BatchNorm2d: inputs it cannot take are refused", "[nn]") {
  nn::BatchNorm2d bn(build(), 3);
  CHECK_THROWS_WITH(bn(random_tensor({2, 3}, 1)),
                    "BatchNorm2d: x is (2, 3); expected (b, c, h, w)");
  CHECK_THROWS_AS(bn(random_tensor({2, 4, 2, 2}, 1)), ShapeError);
  bn.train(true);
  CHECK_THROWS_WITH(bn(random_tensor({1, 3, 1, 1}, 1)),
                    Catch::Contains("training needs more than one value per channel"));
}
