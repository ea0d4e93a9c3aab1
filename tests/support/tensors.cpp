#include "tests/support/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "autograd/mode.h"
#include "ops/create.h"
#include "ops/elementwise.h"

namespace fovea::test {
namespace {

Device& replacement() {
  static Device device;
  return device;
}

}  // namespace

const Device& cpu() {
  static const Device device = [] {
    const char* name = std::getenv("FOVEA_TEST_DEVICE");
    return make_device(name ? name : "cpu", {.threads = 2});
  }();
  return replacement().defined() ? replacement() : device;
}

InPlaceOfCpu::InPlaceOfCpu(const Device& device) { replacement() = device; }
InPlaceOfCpu::~InPlaceOfCpu() { replacement() = Device(); }

Tensor random_tensor(const Shape& shape, std::uint64_t seed, DType dtype) {
  return ops::random_normal(shape, 0, 1, RandomStream(seed), dtype, cpu());
}

Tensor away_from_zero(const Shape& shape, std::uint64_t seed, double margin) {
  const Tensor x = random_tensor(shape, seed);
  edit<double>(x, [&](auto values) {
    for (double& value : values) value += value < 0 ? -margin : margin;
  });
  return x;
}

Tensor uniform_tensor(const Shape& shape, double low, double high, std::uint64_t seed) {
  return ops::random_uniform(shape, low, high, RandomStream(seed), DType::kFloat64, cpu());
}

void check_gradients(const Function& function, const std::vector<Tensor>& inputs) {
  for (const Tensor& input : inputs) {
    if (input.defined() && is_floating(input.dtype())) input.set_requires_grad(true);
  }
  const autograd::GradientCheck result = autograd::check_gradients(function, inputs);
  INFO(result.message);
  CHECK(result.passed);
}

std::vector<double> to_doubles(const Tensor& x) {
  const autograd::NoGrad no_grad;
  const Tensor wide = ops::cast(x, DType::kFloat64);
  const auto values = wide.host_values<double>();
  return {values.begin(), values.end()};
}

void set_values(const Tensor& x, const Tensor& values) {
  REQUIRE(x.dtype() == values.dtype());
  REQUIRE(x.numel() == values.numel());
  std::vector<std::byte> bytes(static_cast<std::size_t>(values.bytes()));
  values.download(bytes.data());
  x.upload(bytes.data());
}

double inner_product(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  const std::vector<double> x = to_doubles(a);
  const std::vector<double> y = to_doubles(b);
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

double max_difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  const std::vector<double> x = to_doubles(a);
  const std::vector<double> y = to_doubles(b);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]);
    if (!(difference <= worst)) worst = difference;  // a NaN counts as worst
  }
  return worst;
}

}  // namespace fovea::test
