#include "ops/elementwise.h"

#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "ops/create.h"
#include "ops/shape.h"
#include "tests/ops/element_ops.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor pow3(Tensor x) { return ops::pow(std::move(x), 2.5); }
Tensor elu(Tensor x) { return ops::elu(std::move(x), 0.7); }
Tensor leaky_relu(Tensor x) { return ops::leaky_relu(x); }
Tensor clamp(Tensor x) { return ops::clamp(std::move(x), -0.5, 0.5); }
Tensor affine(Tensor x) { return ops::affine(std::move(x), -1.5, 0.3); }

// Those with options, and the other side of a kink.
std::vector<ElementOp> smooth_cases() {
  std::vector<ElementOp> all = element_ops();
  for (const ElementOp& more :
       std::initializer_list<ElementOp>{{"affine", affine, -2, 2},
                                        {"pow", pow3, 0.2, 2},
                                        {"clamp inside", clamp, -0.4, 0.4},
                                        {"clamp outside", clamp, 0.6, 2},
                                        {"relu below", ops::relu, -2, -0.1},
                                        {"leaky_relu above", leaky_relu, 0.1, 2},
                                        {"leaky_relu below", leaky_relu, -2, -0.1},
                                        {"elu above", elu, 0.1, 2},
                                        {"elu below", elu, -2, -0.1}})
    all.push_back(more);
  return all;
}

}  // namespace

TEST_CASE("unary operations: gradients agree with central differences", "[ops]") {
  const auto op = GENERATE(from_range(smooth_cases()));
  INFO(op.name);
  const auto shape = GENERATE(values<Shape>({Shape{2, 3, 7}, Shape{1}, Shape{19}, Shape{}}));
  check_gradients([&](const auto& t) { return op.function(t[0]); },
                  {uniform_tensor(shape, op.low, op.high, 7)});
}

TEST_CASE("unary operations: values and limits", "[ops]") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::from<double>({-kInf, -1e3, -1.0, 0.0, 1.0, 1e3, kInf}, {7}, cpu());
  const auto sigmoid = to_doubles(ops::sigmoid(x));
  CHECK(sigmoid[0] == 0.0);
  CHECK(sigmoid[2] == Approx(0.2689414213699951).epsilon(1e-14));
  CHECK(sigmoid[6] == 1.0);
  const auto softplus = to_doubles(ops::softplus(x));
  CHECK(softplus[1] == 0.0);
  CHECK(softplus[3] == Approx(0.6931471805599453).epsilon(1e-14));
  CHECK(softplus[5] == 1e3);
  const auto gelu = to_doubles(ops::gelu(x));
  CHECK(gelu[4] == Approx(0.8413447460685429).epsilon(1e-13));
  CHECK(gelu[3] == 0.0);
  CHECK(to_doubles(ops::quick_gelu(x))[4] == Approx(0.8457957659328212).epsilon(1e-14));
  CHECK(to_doubles(ops::leaky_relu(x))[2] == Approx(-0.01).epsilon(1e-14));
  CHECK(to_doubles(ops::leaky_relu(x, 0.2))[4] == Approx(1.0).epsilon(1e-14));
  const Tensor nan = Tensor::from<double>({std::numeric_limits<double>::quiet_NaN()}, {1}, cpu());
  for (const auto function :
       {ops::relu, ops::gelu, ops::silu, ops::softplus, ops::abs, ops::exp, ops::tanh}) {
    CHECK(std::isnan(function(nan).item<double>()));
  }
  CHECK(std::isnan(ops::maximum(nan, nan).item<double>()));
  CHECK(ops::is_finite(x).host_values<std::uint8_t>()[1] == 1);
  CHECK(ops::is_finite(x).host_values<std::uint8_t>()[0] == 0);
}

TEST_CASE("float32 maps agree with float64 to rounding", "[ops]") {
  for (const auto function : {ops::exp, ops::tanh, ops::sigmoid, ops::gelu, ops::quick_gelu,
                              ops::silu, ops::erf, ops::softplus}) {
    const Tensor x = uniform_tensor({1001}, -6, 6, 3);
    const Tensor wide = function(x);
    const Tensor narrow = function(ops::cast(x, DType::kFloat32));
    const auto a = to_doubles(wide);
    const auto b = to_doubles(narrow);
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      worst = std::max(worst, std::abs(a[i] - b[i]) / std::max(1.0, std::abs(a[i])));
    }
    CHECK(worst < 2e-6);
  }
}

TEST_CASE("exp: within 2 units in the last place where it is normal", "[ops][host]") {
  std::vector<float> places;
  for (int i = 0; i <= 400000; ++i)
    places.push_back(-87.3F + 175.6F * static_cast<float>(i) / 400000);
  const Tensor x = Tensor::from<float>(places, {std::ssize(places)}, cpu());
  const auto found = ops::exp(x).host_values<float>();
  double worst = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double expected = std::exp(static_cast<double>(places[i]));
    const auto nearest = static_cast<float>(expected);
    const float above = std::nextafter(nearest, std::numeric_limits<float>::infinity());
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected) /
                                (static_cast<double>(above) - static_cast<double>(nearest)));
  }
  CHECK(worst < 2);
}

TEST_CASE("conventions at kinks: relu and abs have gradient 0 at 0, clamp 1 on its bounds",
          "[ops]") {
  const auto gradient_at = [](double x, Tensor (*f)(Tensor)) {
    const Tensor leaf = trainable(Tensor::from<double>({x}, {1}, cpu()));
    autograd::backward(f(leaf));
    return leaf.grad().item<double>();
  };
  CHECK(gradient_at(0.0, ops::relu) == 0.0);
  CHECK(gradient_at(0.0, ops::abs) == 0.0);
  CHECK(gradient_at(0.5, clamp) == 1.0);
}

TEST_CASE("binary operations: gradients, with broadcasting", "[ops]") {
  struct Sizes {
    Shape a, b;
  };
  const auto sizes = GENERATE(values<Sizes>({{{2, 3, 5}, {2, 3, 5}},
                                             {{2, 3, 5}, {5}},
                                             {{2, 3, 5}, {3, 1}},
                                             {{2, 1, 5}, {1, 3, 1}},
                                             {{1}, {4, 3}},
                                             {{}, {3}},
                                             {{2, 1, 3, 1}, {4, 1, 9}},
                                             {{1, 1}, {1, 1}}}));
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const auto op =
      GENERATE(values<Binary>({[](const Tensor& a, const Tensor& b) { return ops::add(a, b); },
                               static_cast<Binary>(ops::sub), static_cast<Binary>(ops::mul),
                               static_cast<Binary>(ops::div), ops::maximum, ops::minimum}));
  check_gradients([&](const auto& t) { return op(t[0], t[1]); },
                  {away_from_zero(sizes.a, 1, 0.5), away_from_zero(sizes.b, 2, 0.5)});
}

TEST_CASE("binary operations: one tensor used twice, and ties", "[ops]") {
  check_gradients([](const auto& t) { return ops::mul(t[0], t[0]); }, {random_tensor({3, 4}, 5)});
  check_gradients([](const auto& t) { return ops::add(ops::div(t[0], t[0]), t[0]); },
                  {away_from_zero({3}, 5)});
  const Tensor a = trainable(Tensor::from<double>({2.0}, {1}, cpu()));
  const Tensor b = trainable(Tensor::from<double>({2.0}, {1}, cpu()));
  autograd::backward(ops::maximum(a, b));
  CHECK(a.grad().item<double>() == 0.5);
  CHECK(b.grad().item<double>() == 0.5);
}

TEST_CASE("broadcasting: values equal an explicit loop", "[ops]") {
  const Tensor a = random_tensor({2, 1, 3, 1}, 1);
  const Tensor b = random_tensor({4, 1, 5}, 2);
  const auto left = to_doubles(a);
  const auto right = to_doubles(b);
  const auto y = to_doubles(ops::sub(a, b));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t k = 0; k < 3; ++k) {
        for (std::size_t l = 0; l < 5; ++l) {
          CHECK(y[((i * 4 + j) * 3 + k) * 5 + l] == left[i * 3 + k] - right[j * 5 + l]);
        }
      }
    }
  }
  CHECK_THROWS_WITH(ops::add(random_tensor({2, 3}, 1), random_tensor({4}, 1)),
                    Catch::Contains("add: shapes do not broadcast: (2, 3) and (4)"));
}

TEST_CASE("comparisons and where", "[ops]") {
  const Tensor a = Tensor::from<std::int64_t>({1, 2, 3}, {3}, cpu());
  const Tensor b = Tensor::from<std::int64_t>({2}, {1}, cpu());
  const auto bits = [](const Tensor& x) {
    const auto v = x.host_values<std::uint8_t>();
    return std::vector<int>(v.begin(), v.end());
  };
  CHECK(bits(ops::less(a, b)) == std::vector<int>{1, 0, 0});
  CHECK(bits(ops::greater_equal(a, b)) == std::vector<int>{0, 1, 1});
  CHECK(bits(ops::not_equal(a, b)) == std::vector<int>{1, 0, 1});
  const Tensor condition = Tensor::from<std::uint8_t>({1, 0, 1, 0, 0, 1}, {2, 3}, cpu());
  check_gradients([&](const auto& t) { return ops::where(condition, t[0], t[1]); },
                  {random_tensor({3}, 1), random_tensor({2, 1}, 2)});
}

TEST_CASE("swiglu: gradient and both orders", "[ops]") {
  const bool gate_last = GENERATE(false, true);
  check_gradients([&](const auto& t) { return ops::swiglu(t[0], gate_last); },
                  {random_tensor({2, 3, 10}, 3)});
  const Tensor x = Tensor::from<double>({1.0, 2.0}, {2}, cpu());
  const double silu1 = 0.7310585786300049;
  const double silu2 = 1.7615941559557649;
  CHECK(ops::swiglu(x, gate_last).item<double>() ==
        Approx(gate_last ? silu2 : 2 * silu1).epsilon(1e-14));
  CHECK_THROWS_AS(ops::swiglu(random_tensor({3, 5}, 1)), ShapeError);
}

TEST_CASE("swiglu: of two tensors, it is that of their halves", "[ops]") {
  const auto halves = [](const auto& t) { return ops::swiglu(t[0], t[1]); };
  check_gradients(halves, {random_tensor({2, 3, 5}, 3), random_tensor({2, 3, 5}, 4)});
  // Where nobody else holds the upstream gradient, it is written over.
  check_gradients([&](const auto& t) { return ops::affine(halves(t), 2, 1); },
                  {random_tensor({2, 3, 5}, 3), random_tensor({2, 3, 5}, 4)});
  const Tensor a = random_tensor({4, 33}, 1), b = random_tensor({4, 33}, 2);
  CHECK(to_doubles(ops::swiglu(a, b)) == to_doubles(ops::swiglu(ops::concat({a, b}, -1))));
  CHECK_THROWS_WITH(ops::swiglu(a, random_tensor({4, 32}, 1)),
                    Catch::Contains("a is (4, 33), b is (4, 32); expected equal shapes"));
}

TEST_CASE("dropout: keeps the mean, the same draw in backward, nothing at p = 0", "[ops]") {
  const RandomStream stream = RandomStream(5).fork("dropout");
  const Tensor x = trainable(ops::ones({100, 100}, DType::kFloat32, cpu()));
  const Tensor y = ops::dropout(x, 0.25, stream);
  double sum = 0;
  for (const float value : y.host_values<float>()) {
    CHECK((value == 0.0f || value == Approx(4.0 / 3)));
    sum += static_cast<double>(value);
  }
  CHECK(sum / 1e4 == Approx(1.0).margin(0.03));
  autograd::backward(y, ops::ones_like(y));
  CHECK(max_difference(x.grad(), y) == 0.0);
  CHECK(ops::dropout(x, 0.0, stream).id() == x.id());
  CHECK_THROWS_AS(ops::dropout(x, 1.0, stream), ShapeError);
}

TEST_CASE("drop_path: drops whole items", "[ops]") {
  const auto y = to_doubles(
      ops::drop_path(ops::ones({64, 3, 5}, DType::kFloat64, cpu()), 0.5, RandomStream(1)));
  int dropped = 0;
  for (std::size_t item = 0; item < 64; ++item) {
    const double first = y[item * 15];
    CHECK((first == 0.0 || first == 2.0));
    dropped += first == 0.0;
    for (std::size_t i = 1; i < 15; ++i) CHECK(y[item * 15 + i] == first);
  }
  CHECK(dropped > 16);
  CHECK(dropped < 48);
}

TEST_CASE("cast: bfloat16 rounds to nearest even, integers round trip, gradients pass", "[ops]") {
  const Tensor x = Tensor::from<float>({1.0f, 1.00390625f, 1.01171875f, -3.0e38f}, {4}, cpu());
  const auto back = to_doubles(ops::cast(ops::cast(x, DType::kBFloat16), DType::kFloat32));
  CHECK(back[0] == 1.0);
  CHECK(back[1] == 1.0);       // halfway: to even
  CHECK(back[2] == 1.015625);  // halfway: to even
  check_gradients([](const auto& t) { return ops::mul(ops::cast(t[0], DType::kFloat64), 2.0); },
                  {random_tensor({5}, 1)});
}

TEST_CASE("subnormal numbers count as zero, and only in kernels", "[ops][host]") {
  const double tiny = 1e-310;
  const Tensor x = ops::mul(ops::full({4096}, 1e-300, DType::kFloat64, cpu()), 1e-10);
  CHECK(to_doubles(x)[4095] == 0.0);
  const volatile double one = 1;
  CHECK(tiny * one > 0.0);
}
