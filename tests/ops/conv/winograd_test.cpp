// Convolutions that are computed by minimal filtering (backend/cpu/conv/conv_winograd.cpp), against
// the plain ones that float64 has.
#include "ops/conv/convolution.h"

#include "ops/elementwise.h"
#include "ops/norm.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct Results {
  Tensor y, dx, dw, db;
};

Results results(const Shape& x_shape, std::int64_t c_out, std::int64_t padding, DType dtype) {
  const auto narrow = [&](const Shape& shape, std::uint64_t seed) {
    const Tensor values = random_tensor(shape, seed, DType::kFloat32);
    return ops::cast(values, dtype);
  };
  const Tensor x = trainable(narrow(x_shape, 1));
  const Tensor w = trainable(narrow({c_out, x_shape[1], 3, 3}, 2));
  const Tensor b = trainable(narrow({c_out}, 3));
  const Tensor y = ops::conv(x, w, b, {{1}, {padding}});
  autograd::backward(y, narrow(y.shape(), 4));
  return {y, x.grad(), w.grad(), b.grad()};
}

// The largest difference over the root mean square of what is expected.
double error_of(const Tensor& found, const Tensor& expected) {
  const std::vector<double> a = to_doubles(found), b = to_doubles(expected);
  REQUIRE(a.size() == b.size());
  double worst = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= worst)) worst = difference;
    squares += b[i] * b[i];
  }
  return worst / std::sqrt(squares / static_cast<double>(b.size()));
}

}  // namespace

TEST_CASE("conv: 3x3 of many channels equals float64's", "[ops]") {
  struct Case {
    Shape x;
    std::int64_t c_out, padding;
  };
  // Sides that fill no tile; items that share vectors and groups, with some left over; no padding,
  // and more than the kernel needs; several groups, of which the last one is smaller.
  const auto c = GENERATE(values<Case>({{{2, 128, 30, 33}, 144, 1},
                                        {{9, 144, 14, 14}, 128, 1},
                                        {{33, 128, 7, 8}, 128, 1},
                                        {{5, 128, 21, 26}, 128, 0},
                                        {{3, 128, 26, 22}, 128, 2},
                                        {{1, 128, 97, 94}, 128, 1}}));
  CAPTURE(to_string(c.x), c.c_out, c.padding);
  const Results wide = results(c.x, c.c_out, c.padding, DType::kFloat64);
  const Results found = results(c.x, c.c_out, c.padding, DType::kFloat32);
  const double limit = 3e-5;
  CHECK(error_of(found.y, wide.y) < limit);
  CHECK(error_of(found.dx, wide.dx) < limit);
  CHECK(error_of(found.dw, wide.dw) < limit);
  CHECK(error_of(found.db, wide.db) < limit);
}

TEST_CASE("conv: a number of 3x3 of many channels that is not finite stays where it is seen",
          "[ops][host]") {
  const Tensor x = random_tensor({8, 128, 16, 16}, 1, DType::kFloat32);
  const Tensor w = random_tensor({128, 128, 3, 3}, 2, DType::kFloat32);
  x.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = ops::conv(x, w, {}, {{1}, {1}});
  CHECK(std::isnan(y.data<float>()[0]));
  // Tiles that do not read it have numbers.
  for (std::int64_t i = 5 * 16; i < 16 * 16; ++i) CHECK_FALSE(std::isnan(y.data<float>()[i]));
}

TEST_CASE("conv: the input of a 3x3 of many channels that is made again gives the same gradients",
          "[ops][long]") {
  const auto run = [](bool kept) {
    const Tensor x = trainable(random_tensor({3, 128, 25, 27}, 1, DType::kFloat32));
    const Tensor w = trainable(random_tensor({128, 128, 3, 3}, 2, DType::kFloat32));
    const Tensor r = random_tensor(x.shape(), 3, DType::kFloat32);
    Tensor y = ops::batch_norm({{}, {}, {}, {}, true, 0.1, 1e-5}, x, r, true);
    if (kept) y = ops::mul(y, 1.0);
    const Tensor z = ops::conv(y, w, {}, {{1}, {1}});
    autograd::backward(z, random_tensor(z.shape(), 4, DType::kFloat32));
    return std::vector<Tensor>{z, x.grad(), w.grad()};
  };
  const std::vector<Tensor> made = run(false), kept = run(true);
  for (std::size_t i = 0; i < made.size(); ++i) CHECK(max_difference(made[i], kept[i]) == 0);
}

TEST_CASE("conv: 3x3 of many channels has the same bits for any number of threads", "[ops][host]") {
  const auto run = [](const Shape& x, const Shape& w) {
    check_threads(
        [](const auto& t) {
          return ops::conv(t[0], t[1], t[2], {{1}, {1}});
        },
        {x, w, {w[0]}});
  };
  run({2, 128, 34, 30}, {144, 128, 3, 3});
  run({1, 128, 97, 94}, {128, 128, 3, 3});
}
