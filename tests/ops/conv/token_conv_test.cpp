#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// The same with the channels brought to the front and back.
Tensor reference(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t h,
                 std::int64_t w) {
  const std::int64_t c = x.size(2);
  const Tensor planes = ops::reshape(ops::permute(x, {0, 2, 1}), {x.size(0), c, h, w});
  const ops::ConvOptions options{{1}, {weight.size(2) / 2, weight.size(3) / 2}, {1}, c};
  const Tensor y = ops::conv(planes, weight, bias, options);
  return ops::permute(ops::reshape(y, {x.size(0), c, h * w}), {0, 2, 1});
}

}  // namespace

TEST_CASE("token_conv: gradients of input, weight and bias", "[ops]") {
  struct ConvCase {
    std::int64_t b, h, w, c, kernel_h, kernel_w;
  };
  const auto s = GENERATE(values<ConvCase>(
      {{2, 3, 5, 4, 3, 3}, {1, 1, 1, 1, 3, 3}, {1, 2, 9, 3, 1, 5}, {2, 4, 2, 9, 5, 3}}));
  CAPTURE(s.b, s.h, s.w, s.c, s.kernel_h, s.kernel_w);
  check_gradients([&](const auto& t) { return ops::token_conv(t[0], t[1], t[2], s.h, s.w); },
                  {random_tensor({s.b, s.h * s.w, s.c}, 1),
                   random_tensor({s.c, 1, s.kernel_h, s.kernel_w}, 2), random_tensor({s.c}, 3)});
}

TEST_CASE("token_conv: with its input added", "[ops]") {
  const Tensor x = random_tensor({2, 12, 5}, 1);
  const Tensor weight = random_tensor({5, 1, 3, 3}, 2);
  const Tensor bias = random_tensor({5}, 3);
  const Tensor y = ops::token_conv(x, weight, bias, 3, 4, true);
  CHECK(max_difference(y, ops::add(x, ops::token_conv(x, weight, bias, 3, 4))) < 1e-13);
  check_gradients([&](const auto& t) { return ops::token_conv(t[0], t[1], t[2], 3, 4, true); },
                  {x, weight, bias});
}

TEST_CASE("token_conv: values and gradients are those of a depthwise convolution", "[ops]") {
  struct ConvCase {
    std::int64_t channels, h, w, kernel_h, kernel_w;
  };
  // Rows of the last ones are too long to be packed as a whole.
  const auto s = GENERATE(values<ConvCase>({{1, 23, 21, 3, 3},
                                            {8, 23, 21, 3, 3},
                                            {16, 23, 21, 3, 3},
                                            {37, 23, 21, 5, 5},
                                            {300, 23, 21, 3, 3},
                                            {19, 6, 11, 3, 7},
                                            {40, 5, 333, 5, 9},
                                            {1100, 4, 21, 3, 3}}));
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  CAPTURE(s.channels, s.w, s.kernel_w, name_of(dtype));
  const auto run = [&](DType type, bool tokens) {
    const auto leaf = [](const Shape& shape, std::uint64_t seed) {
      return trainable(random_tensor(shape, seed, DType::kFloat32));
    };
    std::vector<Tensor> leaves{leaf({2, s.h * s.w, s.channels}, 1),
                               leaf({s.channels, 1, s.kernel_h, s.kernel_w}, 2),
                               leaf({s.channels}, 3)};
    std::vector<Tensor> given;
    for (const Tensor& x : leaves) given.push_back(ops::cast(x, type));
    const Tensor y = tokens ? ops::token_conv(given[0], given[1], given[2], s.h, s.w)
                            : reference(given[0], given[1], given[2], s.h, s.w);
    autograd::backward(y, ops::cast(random_tensor(y.shape(), 9, DType::kFloat32), type));
    return std::vector<Tensor>{y, leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
  };
  const std::vector<Tensor> found = run(dtype, true);
  const std::vector<Tensor> expected = run(DType::kFloat64, false);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    // Leaves are float32, so a gradient has its rounding in either case.
    CHECK(max_difference(found[i], expected[i]) <= (i < 2 ? 1e-5 : 1e-3));
  }
}

TEST_CASE("token_conv: gradients on a grid of three axes, with a residual", "[ops]") {
  struct ConvCase {
    std::int64_t b;
    ops::Sizes grid;
    std::int64_t c;
    ops::Sizes kernel;
  };
  const auto s = GENERATE(values<ConvCase>({{2, {2, 3, 5}, 4, {3, 3, 3}},
                                            {1, {1, 1, 1}, 1, {3, 3, 3}},
                                            {1, {4, 2, 6}, 3, {5, 3, 1}},
                                            {2, {3, 4}, 2, {3, 3}}}));
  const bool residual = GENERATE(false, true);
  CAPTURE(s.b, s.grid, s.c, s.kernel, residual);
  Shape weight{s.c, 1};
  std::int64_t tokens = 1;
  for (const std::int64_t side : s.kernel) weight.push_back(side);
  for (const std::int64_t side : s.grid) tokens *= side;
  check_gradients(
      [&](const auto& t) { return ops::token_conv(t[0], t[1], t[2], s.grid, residual); },
      {random_tensor({s.b, tokens, s.c}, 1), random_tensor(weight, 2), random_tensor({s.c}, 3)});
}

TEST_CASE("token_conv: on three axes it is a depthwise convolution, and x more", "[ops]") {
  const std::int64_t c = 37;
  const Tensor x = random_tensor({2, 5 * 7 * 9, c}, 1, DType::kFloat32);
  const Tensor weight = random_tensor({c, 1, 3, 5, 3}, 2, DType::kFloat32);
  const Tensor bias = random_tensor({c}, 3, DType::kFloat32);
  const Tensor found = ops::token_conv(x, weight, bias, {5, 7, 9}, true);
  const auto wide = [](const Tensor& t) { return ops::cast(t, DType::kFloat64); };
  const Tensor planes = ops::reshape(ops::permute(wide(x), {0, 2, 1}), {2, c, 5, 7, 9});
  const Tensor y = ops::conv(planes, wide(weight), wide(bias), {{1}, {1, 2, 1}, {1}, c});
  const Tensor tokens = ops::permute(ops::reshape(y, {2, c, 5 * 7 * 9}), {0, 2, 1});
  CHECK(max_difference(wide(found), ops::add(tokens, wide(x))) < 1e-5);
}

TEST_CASE("token_conv: on three axes the same bits for any number of threads", "[ops][host]") {
  check_threads(
      [](const auto& t) {
        return ops::token_conv(t[0], t[1], t[2], {9, 20, 13}, true);
      },
      {{2, 9 * 20 * 13, 70}, {70, 1, 3, 3, 3}, {70}});
}

TEST_CASE("token_conv: the same bits for any number of threads", "[ops][host]") {
  check_threads([](const auto& t) { return ops::token_conv(t[0], t[1], t[2], 60, 41); },
                {{3, 60 * 41, 70}, {70, 1, 3, 3}, {70}});
  // Large enough for more pieces.
  check_threads([](const auto& t) { return ops::token_conv(t[0], t[1], t[2], 20, 20); },
                {{40, 20 * 20, 100}, {100, 1, 7, 7}, {100}});
}

TEST_CASE("token_conv: sizes that do not fit are refused", "[ops]") {
  const Tensor x = random_tensor({2, 6, 4}, 1);
  const auto refuses = [&](const Tensor& weight, const Tensor& bias, std::int64_t h,
                           const char* message) {
    CHECK_THROWS_AS(ops::token_conv(x, weight, bias, h, 3), ShapeError);
    CHECK_THROWS_WITH(ops::token_conv(x, weight, bias, h, 3), Catch::Contains(message));
  };
  const Tensor weight = random_tensor({4, 1, 3, 3}, 2);
  refuses(weight, {}, 3, "x is (2, 6, 4), the grid 3 x 3; expected (b, h w, c)");
  refuses(random_tensor({4, 1, 2, 3}, 2), {}, 2, "expected float64 (4, 1, odd, odd)");
  CHECK_THROWS_WITH(ops::token_conv(x, weight, {}, {1, 2, 3}),
                    Catch::Contains("expected float64 (4, 1, odd, odd, odd)"));
  CHECK_THROWS_WITH(ops::token_conv(x, weight, {}, {2, 2, 3}),
                    Catch::Contains("the grid 2 x 2 x 3; expected (b, d h w, c)"));
  refuses(random_tensor({4, 4, 3, 3}, 2), {}, 2, "weight is float64 (4, 4, 3, 3)");
  refuses(weight, random_tensor({3}, 2), 2, "bias is float64 (3); expected float64 (4)");
}
