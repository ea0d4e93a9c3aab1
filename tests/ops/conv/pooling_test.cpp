#include <limits>

#include "ops/conv/convolution.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("pooling: gradients over one to three axes", "[ops]") {
  const auto check = [](const Shape& shape, const Function& function) {
    CAPTURE(to_string(shape));
    check_gradients(function, {random_tensor(shape, 1)});
  };
  check({2, 3, 9}, [](const auto& t) { return ops::max_pool(t[0], {3}, {2}, {1}); });
  check({2, 2, 5, 7}, [](const auto& t) { return ops::max_pool(t[0], {2, 3}); });
  check({1, 2, 4, 5, 3}, [](const auto& t) { return ops::max_pool(t[0], {2}, {1}, {1}); });
  for (const bool pad : {false, true}) {
    check({2, 3, 9}, [=](const auto& t) { return ops::avg_pool(t[0], {4}, {3}, {2}, pad); });
    check({2, 2, 5, 7}, [=](const auto& t) { return ops::avg_pool(t[0], {3, 2}, {1}, {1}, pad); });
    check({1, 2, 4, 5, 3}, [=](const auto& t) { return ops::avg_pool(t[0], {2}, {2}, {1}, pad); });
  }
  check({2, 3, 7}, [](const auto& t) { return ops::adaptive_avg_pool(t[0], {3}); });
  check({1, 2, 5, 6}, [](const auto& t) { return ops::adaptive_avg_pool(t[0], {7, 4}); });
  check({1, 2, 3, 4, 5}, [](const auto& t) { return ops::adaptive_avg_pool(t[0], {1}); });
  check({1, 2, 5, 6}, [](const auto& t) { return ops::adaptive_max_pool(t[0], {2, 4}); });
}

TEST_CASE("pooling: values and gradients computed with PyTorch", "[ops]") {
  const auto check = [](const Function& function, const std::vector<double>& expected,
                        const std::vector<double>& gradient) {
    const Tensor x = trainable(ramp({1, 1, 5, 7}, 7, 11));
    const Tensor y = function({x});
    backward_ramp(y);
    check_values(y, expected);
    check_values(x.grad(), gradient);
  };
  // Many of these maxima are shared: the first one counts.
  check([](const auto& t) { return ops::max_pool(t[0], {3}, {2}, {1}); },
        {0.5, 1.25, 1.25, 1, 1.25, 1, 1.25, 0.75, 1, 0.75, 1.25, 0.5},
        {0, -1.5, 0,    0.75, 0, 0, -1, 0,    0, 0, 0,     0, 0, 0, 0.25, 0, 0,    1.5,
         0, 0,    0.75, 0,    0, 0, 0,  0.75, 0, 0, -1.25, 0, 0, 0, 0,    0, -0.75});
  check(
      [](const auto& t) {
        return ops::avg_pool(t[0], {3, 2}, {2, 3}, {1});
      },
      {-0.2083333333333, 0.2083333333333, 0.04166666666667, 0.1666666666667, 0.125, -0.125, 0.125,
       -0.04166666666667, -0.2083333333333},
      {-0.25,
       0,
       -0.04166666666667,
       -0.04166666666667,
       0,
       0.1666666666667,
       0.1666666666667,
       -0.4166666666667,
       0,
       0,
       0,
       0,
       0.4166666666667,
       0.4166666666667,
       -0.1666666666667,
       0,
       0.04166666666667,
       0.04166666666667,
       0,
       0.25,
       0.25,
       -0.25,
       0,
       0.1666666666667,
       0.1666666666667,
       0,
       0.04166666666667,
       0.04166666666667,
       -0.08333333333333,
       0,
       0.125,
       0.125,
       0,
       -0.2083333333333,
       -0.2083333333333});
  check(
      [](const auto& t) {
        return ops::avg_pool(t[0], {3, 2}, {2, 3}, {1}, false);
      },
      {-0.625, 0.3125, 0.0625, 0.3333333333333, 0.125, -0.125, 0.375, -0.0625, -0.3125},
      {-0.75,
       0,
       -0.0625,
       -0.0625,
       0,
       0.25,
       0.25,
       -1.083333333333,
       0,
       -0.02083333333333,
       -0.02083333333333,
       0,
       0.5,
       0.5,
       -0.3333333333333,
       0,
       0.04166666666667,
       0.04166666666667,
       0,
       0.25,
       0.25,
       -0.5833333333333,
       0,
       0.2291666666667,
       0.2291666666667,
       0,
       -0.0625,
       -0.0625,
       -0.25,
       0,
       0.1875,
       0.1875,
       0,
       -0.3125,
       -0.3125});
  check(
      [](const auto& t) {
        return ops::adaptive_avg_pool(t[0], {2, 3});
      },
      {-0.08333333333333, 0.05555555555556, -0.1111111111111, -0.02777777777778, 0.1111111111111,
       -0.05555555555556},
      {-0.1666666666667,  -0.1666666666667,  -0.1944444444444,
       -0.02777777777778, 0.08333333333333,  0.1111111111111,
       0.1111111111111,   -0.1666666666667,  -0.1666666666667,
       -0.1944444444444,  -0.02777777777778, 0.08333333333333,
       0.1111111111111,   0.1111111111111,   -0.2777777777778,
       -0.2777777777778,  -0.2777777777778,  0,
       0.2777777777778,   0.2777777777778,   0.2777777777778,
       -0.1111111111111,  -0.1111111111111,  -0.08333333333333,
       0.02777777777778,  0.1944444444444,   0.1666666666667,
       0.1666666666667,   -0.1111111111111,  -0.1111111111111,
       -0.08333333333333, 0.02777777777778,  0.1944444444444,
       0.1666666666667,   0.1666666666667});
  check(
      [](const auto& t) {
        return ops::adaptive_max_pool(t[0], {2, 3});
      },
      {1.25, 1.25, 1, 1.25, 1.25, 1.25},
      {0, 0, 0, -0.25, 0, 0, 1, 0,    0, 0, 0, 0, 0, 0, -2.5, 0, 0, 0,
       0, 0, 0, 0,     0, 0, 0, 1.75, 0, 0, 0, 0, 0, 0, 0,    0, 0});
}

TEST_CASE("max_pool: NaN is kept and padding never wins", "[ops]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = Tensor::from<double>({-3, -1, nan, -2, -5, -4}, {1, 1, 6}, cpu());
  const auto y = to_doubles(ops::max_pool(x, {2}, {2}, {1}));
  CHECK(y[0] == -3);
  CHECK(std::isnan(y[1]));
  CHECK(y[2] == -2);
  CHECK(y[3] == -4);
}

TEST_CASE("adaptive_avg_pool: one output is the mean", "[ops]") {
  const Tensor x = random_tensor({2, 3, 13, 9}, 1, DType::kFloat32);
  const auto y = to_doubles(ops::adaptive_avg_pool(x, {1}));
  const auto values = to_doubles(x);
  for (std::size_t plane = 0; plane < 6; ++plane) {
    double sum = 0;
    for (std::size_t i = 0; i < 117; ++i) sum += values[plane * 117 + i];
    CHECK(y[plane] == Approx(sum / 117).epsilon(1e-6).margin(1e-8));
  }
}

TEST_CASE("pooling: same bits for any number of threads", "[ops][host]") {
  const Shape shape{7, 24, 21, 19};
  check_threads([](const auto& t) { return ops::max_pool(t[0], {3}, {2}, {1}); }, {shape});
  check_threads([](const auto& t) { return ops::avg_pool(t[0], {3}, {1}, {1}); }, {shape});
}

TEST_CASE("pooling: wrong arguments are named", "[ops]") {
  const Tensor x = random_tensor({1, 2, 5, 5}, 1);
  CHECK_THROWS_WITH(ops::max_pool(x, {2}, {2}, {2}),
                    Catch::Contains("max_pool: padding 2 is more than half of kernel 2"));
  CHECK_THROWS_WITH(ops::avg_pool(x, {6}),
                    Catch::Contains("avg_pool: spatial axis 0 of x (1, 2, 5, 5) is 5"));
  CHECK_THROWS_WITH(ops::adaptive_avg_pool(x, {0}), Catch::Contains("output is 0"));
  CHECK_THROWS_AS(ops::max_pool(x, {2, 2, 2}), ShapeError);
}
