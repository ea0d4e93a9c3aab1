#include "ops/conv/convolution.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;
using ops::Interpolation;

TEST_CASE("resize: gradients, up and down, with both conventions of corners", "[ops]") {
  const bool align = GENERATE(false, true);
  const auto mode = GENERATE(Interpolation::kLinear, Interpolation::kNearest);
  const auto check = [&](const Shape& shape, const ops::Sizes& output) {
    CAPTURE(to_string(shape), align);
    check_gradients([&](const auto& t) { return ops::resize(t[0], output, mode, align); },
                    {random_tensor(shape, 1)});
  };
  check({2, 3, 5}, {8});
  check({2, 3, 5}, {1});
  check({2, 1, 4, 3}, {7, 9});
  check({1, 2, 5, 6}, {3, 11});
  check({1, 2, 1, 1}, {3, 2});
  check({1, 2, 2, 3, 2}, {3, 2, 5});
}

TEST_CASE("resize: values and gradients computed with PyTorch", "[ops]") {
  const auto check = [](const ops::Sizes& output, Interpolation mode, bool align,
                        const std::vector<double>& expected, const std::vector<double>& gradient) {
    const Tensor x = trainable(ramp({1, 1, 2, 3}, 7, 11));
    const Tensor y = ops::resize(x, output, mode, align);
    backward_ramp(y);
    check_values(y, expected);
    check_values(x.grad(), gradient);
  };
  check({3, 5}, Interpolation::kLinear, false,
        {-1.25, -0.55, 0.5, -0.1, -0.5, 0, 0.15, 0.375, -0.225, -0.625, 1.25, 0.85, 0.25, -0.35,
         -0.75},
        {-1.05, 0.525, -0.725, 1.4, -0.375, -1.525});
  check({3, 5}, Interpolation::kLinear, true,
        {-1.25, -0.375, 0.5, 0, -0.5, 0, 0.1875, 0.375, -0.125, -0.625, 1.25, 0.75, 0.25, -0.25,
         -0.75},
        {-1, 0.3125, -0.5625, 1.5, -0.6875, -1.3125});
  check({5, 4}, Interpolation::kNearest, false,
        {-1.25, -1.25, 0.5,  -0.5, -1.25, -1.25, 0.5,  -0.5, -1.25, -1.25,
         0.5,   -0.5,  1.25, 1.25, 0.25,  -0.75, 1.25, 1.25, 0.25,  -0.75},
        {-1.25, 1.75, -1, -1.75, 1.25, 0.5});
  check_values(ops::resize(ramp({1, 1, 2, 2, 2}, 7, 11), {3, 2, 3}, Interpolation::kLinear),
               {-1.25, -0.375, 0.5, -0.5, 0.375, 1.25, -0.5, -0.3125, -0.125, 0.25, 0.4375, 0.625,
                0.25, -0.25, -0.75, 1, 0.5, 0});
}

TEST_CASE("resize: linear keeps planes linear in the coordinates with aligned corners", "[ops]") {
  std::vector<double> values;
  for (int h = 0; h < 4; ++h)
    for (int w = 0; w < 5; ++w) values.push_back(2.0 * h - 3.0 * w + 1);
  const Tensor x = Tensor::from(values, {1, 1, 4, 5}, cpu());
  const auto y = to_doubles(ops::resize(x, {7, 13}, Interpolation::kLinear, true));
  for (int h = 0; h < 7; ++h)
    for (int w = 0; w < 13; ++w)
      CHECK(y[static_cast<std::size_t>(h * 13 + w)] ==
            Approx(2.0 * h / 2 - 3.0 * w / 3 + 1).margin(1e-12));
}

TEST_CASE("resize: a constant stays constant and the same size is the same tensor", "[ops]") {
  const Tensor x = Tensor::from(std::vector<float>(24, 1.5f), {1, 2, 3, 4}, cpu());
  for (const double value : to_doubles(ops::resize(x, {8, 5}, Interpolation::kLinear))) {
    CHECK(value == Approx(1.5));
  }
  CHECK(ops::resize(x, {3, 4}, Interpolation::kLinear).same_storage(x));
}

TEST_CASE("resize: same bits for any number of threads", "[ops][host]") {
  const auto mode = GENERATE(Interpolation::kLinear, Interpolation::kNearest);
  check_threads(
      [&](const auto& t) {
        return ops::resize(t[0], {61, 47}, mode);
      },
      {{4, 17, 23, 31}});
}

TEST_CASE("resize: wrong arguments are named", "[ops]") {
  const Tensor x = random_tensor({1, 2, 5, 5}, 1);
  CHECK_THROWS_WITH(ops::resize(x, {2, 2, 2}, Interpolation::kLinear),
                    Catch::Contains("resize: output is (2, 2, 2); expected 1 or 2 numbers"));
  CHECK_THROWS_AS(ops::resize(x, {0}, Interpolation::kLinear), ShapeError);
  CHECK_THROWS_AS(ops::resize(random_tensor({2, 5}, 1), {3}, Interpolation::kLinear), ShapeError);
}
