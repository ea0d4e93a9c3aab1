// pow against std::pow, with its limits.
#include <cmath>
#include <limits>

#include "ops/elementwise.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// Magnitudes over the whole range of float, most of them near 1, of both signs.
std::vector<float> operands() {
  std::vector<float> x;
  const RandomStream random(3);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const float reach = i % 2 == 0 ? 250.0F : 3.0F;
    const float size = std::exp2((random.uniform(i) - 0.5F) * reach);
    x.push_back(i % 3 == 0 ? -size : size);
  }
  return x;
}

// The exponent that kernels see: on devices other than the host a float32 with float32 numbers.
template <class T>
double exponent_of(double exponent) {
  return cpu().is_host() ? exponent : static_cast<double>(static_cast<T>(exponent));
}

template <class T>
double gradient_at(double x, double exponent) {
  const Tensor leaf = trainable(Tensor::from<T>({static_cast<T>(x)}, {1}, cpu()));
  autograd::backward(ops::pow(leaf, exponent));
  return static_cast<double>(leaf.grad().item<T>());
}

}  // namespace

TEST_CASE("pow: float32 is within two units in the last place of std::pow", "[ops]") {
  const double exponent = GENERATE(0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 1.5, 2.2, -3.7,
                                   1e-3, 10.0, -11.0, 30.3, 100.5, 1.0 / 3);
  const std::vector<float> x = operands();
  const auto y =
      to_doubles(ops::pow(Tensor::from(x, {static_cast<std::int64_t>(x.size())}, cpu()), exponent));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = std::pow(static_cast<double>(x[i]), exponent_of<float>(exponent));
    const double got = y[i];
    CAPTURE(x[i], exponent, want, got);
    const double size = std::abs(want);
    if (std::isnan(want)) {
      REQUIRE(std::isnan(got));
    } else if (size > static_cast<double>(std::numeric_limits<float>::max())) {
      REQUIRE(std::abs(got) >= 3.4028233e38);
    } else if (size < 1.2e-38) {  // subnormal numbers count as zero
      REQUIRE(std::abs(got) <= 1.2e-38);
    } else {
      const double unit = std::ldexp(1.0, std::ilogb(want) - 23);
      worst = std::max(worst, std::abs(got - want) / unit);
    }
  }
  CAPTURE(exponent, worst);
  CHECK(worst < 2);
}

TEST_CASE("pow: float64 is std::pow", "[ops]") {
  const double exponent = GENERATE(0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -0.5, 2.2, -3.7, 30.3);
  std::vector<double> x;
  for (const float value : operands()) x.push_back(static_cast<double>(value) * 1.1);
  const auto y =
      to_doubles(ops::pow(Tensor::from(x, {static_cast<std::int64_t>(x.size())}, cpu()), exponent));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = std::pow(x[i], exponent);
    const double got = y[i];
    CAPTURE(x[i], exponent);
    if (std::isnan(want)) {
      REQUIRE(std::isnan(got));
    } else if (std::abs(want) < std::numeric_limits<double>::min()) {  // counts as zero
      REQUIRE(std::abs(got) < std::numeric_limits<double>::min());
    } else {
      REQUIRE(got == Approx(want).epsilon(5e-16).margin(0));
    }
  }
}

TEMPLATE_TEST_CASE("pow: has the limits of std::pow", "[ops]", float, double) {
  const std::vector<double> exponents = {0,   -0.0,  1,         2,          3,          4,    -1,
                                         -2,  -3,    0.5,       -0.5,       1.5,        -1.5, 17,
                                         1e9, 1e300, kInfinity, -kInfinity, kNotANumber};
  const std::vector<TestType> x = {0,
                                   -TestType{0},
                                   1,
                                   -1,
                                   2,
                                   -2,
                                   TestType(0.5),
                                   TestType(-0.5),
                                   TestType(kInfinity),
                                   TestType(-kInfinity),
                                   TestType(kNotANumber)};
  for (const double exponent : exponents) {
    const auto y = ops::pow(Tensor::from(x, {static_cast<std::int64_t>(x.size())}, cpu()), exponent)
                       .template host_values<TestType>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto want = static_cast<TestType>(std::pow(static_cast<double>(x[i]), exponent));
      const TestType got = y[i];
      CAPTURE(x[i], exponent, want, got);
      if (std::isnan(want)) {
        CHECK(std::isnan(got));
      } else {
        // Roots may be off by the last bit where they are not the host's own.
        CHECK((got == want || (!cpu().is_host() && got == Approx(want).epsilon(3e-16).margin(0))));
        CHECK(std::signbit(got) == std::signbit(want));
      }
    }
  }
}

TEMPLATE_TEST_CASE("pow: gradients at 0 and of negative numbers", "[ops]", float, double) {
  for (const double x : {0.0, -2.0, 3.0, kInfinity}) {
    CHECK(gradient_at<TestType>(x, 0) == 0.0);
    CHECK(gradient_at<TestType>(x, 1) == 1.0);
  }
  CHECK(gradient_at<TestType>(0, 2) == 0.0);
  CHECK(gradient_at<TestType>(0, 2.5) == 0.0);
  CHECK(gradient_at<TestType>(0, 0.5) == kInfinity);
  CHECK(gradient_at<TestType>(-2, 2) == -4.0);
  CHECK(gradient_at<TestType>(-2, 3) == 12.0);
  CHECK(gradient_at<TestType>(-2, -1) == -0.25);
  CHECK(gradient_at<TestType>(-2, 4) == -32.0);
  CHECK(std::isnan(gradient_at<TestType>(-2, 2.5)));
}

TEST_CASE("pow: gradients for every kind of exponent", "[ops]") {
  const double exponent = GENERATE(0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, 1.5, -0.3);
  check_gradients([&](const auto& t) { return ops::pow(t[0], exponent); },
                  {uniform_tensor({2, 9}, 0.3, 2, 5)});
}
