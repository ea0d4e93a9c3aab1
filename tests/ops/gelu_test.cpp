// GELU with the error function, against float64.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/activation.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::vector<float> points() {
  std::vector<float> x;
  for (int i = -30000; i <= 30000; ++i) x.push_back(static_cast<float>(i) * 5e-4F);
  for (int i = -120; i <= 0; ++i) {
    x.push_back(std::ldexp(1.3F, i));
    x.push_back(-std::ldexp(1.3F, i));
  }
  return x;
}

double cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double slope(double x) {
  return cdf(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0));
}

// Largest |got - want| / (absolute + relative |want|): absolute near 0, relative elsewhere.
template <class Want>
double worst(const std::vector<float>& x, const Tensor& got, Want want, double absolute = 1e-7,
             double relative = 3e-7) {
  const std::vector<double> values = to_doubles(got);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = want(static_cast<double>(x[i]));
    const double error = std::abs(values[i] - w);
    REQUIRE(std::isfinite(error));  // a NaN is no maximum
    most = std::max(most, error / (absolute + relative * std::abs(w)));
  }
  return most;
}

}  // namespace

TEST_CASE("gelu: float32 is exact to its type, forward and backward", "[ops]") {
  const std::vector<float> values = points();
  const auto n = static_cast<std::int64_t>(values.size());
  const Tensor x = trainable(Tensor::from(values, {n}, cpu()));
  const Tensor y = ops::gelu(x);
  autograd::backward(y, ops::ones_like(y));
  CHECK(worst(values, y, [](double v) { return v * cdf(v); }) < 1);
  CHECK(worst(values, x.grad(), slope) < 1);
}

// Half of bfloat16's last bit, 2^-8, and a sixteenth of that for the function itself. A slope is as
// exact as its two terms, which cancel near -0.75.
TEST_CASE("gelu: bfloat16 is exact to its type, forward and backward", "[ops]") {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto value = std::bit_cast<float>(bits << 16);
    if (std::abs(value) < 12) values.push_back(value);
  }
  const auto n = static_cast<std::int64_t>(values.size());
  const Tensor x = trainable(ops::cast(Tensor::from(values, {n}, cpu()), DType::kBFloat16));
  const Tensor y = ops::gelu(x);
  autograd::backward(y, ops::ones_like(y));
  const double relative = std::ldexp(1.0625, -8);
  CHECK(worst(
            values, y, [](double v) { return v * cdf(v); }, 1e-37, relative) < 1);
  CHECK(worst(values, x.grad(), slope, 1e-4, relative) < 1);
}

TEST_CASE("gelu: small results keep their digits", "[ops]") {
  for (float x = -5.0F; x < -0.1F; x += 0.01F) {
    const double got =
        static_cast<double>(ops::gelu(Tensor::from<float>({x}, {1}, cpu())).item<float>());
    const auto wide = static_cast<double>(x);
    CAPTURE(x);
    REQUIRE(got == Approx(wide * cdf(wide)).epsilon(2e-6).margin(0));
  }
}

// Below x = -12.5 the function is under 1e-34, and soon the exponential that it is made of under
// float's normal numbers.
TEST_CASE("gelu: far from zero it is a line on both sides", "[ops]") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> far = {12.5F, 13.0F, 40.0F, 1e10F, 3e38F, infinity};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat64}) {
    for (const float size : far) {
      CAPTURE(name_of(dtype), size);
      const Tensor wide = Tensor::from<float>({size, -size}, {2}, cpu());
      const Tensor x = trainable(ops::cast(wide, dtype));
      const Tensor y = ops::gelu(x);
      autograd::backward(y, ops::ones_like(y));
      const std::vector<double> got = to_doubles(y), dx = to_doubles(x.grad());
      CHECK(got[0] == to_doubles(x)[0]);
      CHECK(std::abs(got[1]) < 1e-30);
      CHECK(dx[0] == 1.0);
      CHECK(std::abs(dx[1]) < 1e-30);
    }
  }
}

TEST_CASE("gelu: the gated form is as exact", "[ops]") {
  const std::vector<float> values = points();
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<float> both = values;
  both.insert(both.end(), values.size(), 1.0F);
  const Tensor x = trainable(Tensor::from(both, {2 * n}, cpu()));
  const Tensor y = ops::activate({.kind = UnaryOp::kGelu, .gated = true}, x);
  autograd::backward(y, ops::ones_like(y));
  CHECK(worst(values, y, [](double v) { return v * cdf(v); }) < 1);
  CHECK(worst(values, x.grad(), slope) < 1);
}
