#include <limits>

#include "ops/create.h"
#include "ops/elementwise.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("drop_path: every sample is kept or dropped by its own draw, at any width", "[ops]") {
  const std::int64_t b = GENERATE(1, 2, 3, 5, 8, 33, 1001);
  const auto item = GENERATE(
      values<std::vector<std::int64_t>>({{}, {1}, {2}, {3}, {7}, {16}, {17}, {1, 1}, {2, 9, 5}}));
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64, DType::kBFloat16);
  CAPTURE(b, item.size(), name_of(dtype));
  const Device& device = cpu();
  const RandomStream random(21);
  const double p = 0.25;  // 1 / (1 - p) has no end in binary
  Shape shape{b};
  for (const std::int64_t size : item) shape.push_back(size);
  const std::int64_t width = shape.numel() / b;
  const Tensor x = trainable(ops::cast(ops::ones(shape, DType::kFloat64, device), dtype).detach());
  {  // what nobody writes shows up as NaN
    std::vector<Tensor> stale;
    for (int i = 0; i < 4; ++i)
      stale.push_back(ops::full(shape, std::numeric_limits<double>::quiet_NaN(), dtype, device));
  }
  const Tensor y = ops::drop_path(x, p, random);
  autograd::backward(y, ops::ones_like(y));
  const std::vector<double> values = to_doubles(y.detach());
  const double kept = to_doubles(
      ops::cast(Tensor::from<float>({static_cast<float>(1 / (1 - p))}, {1}, device), dtype))[0];
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < b * width; ++i) {
    const bool drops =
        static_cast<double>(random.uniform(static_cast<std::uint64_t>(i / width))) < p;
    const double expected = drops ? 0 : (dtype == DType::kFloat64 ? 1 / (1 - p) : kept);
    if (values[static_cast<std::size_t>(i)] != expected) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(to_doubles(x.grad()) == values);
}

TEST_CASE("drop_path: a dropped sample is zero whatever it held", "[ops]") {
  const RandomStream random(21);
  const std::int64_t b = 64, width = 5;
  const Tensor x =
      ops::full({b, width}, std::numeric_limits<double>::infinity(), DType::kFloat64, cpu());
  const std::vector<double> y = to_doubles(ops::drop_path(x, 0.5, random));
  for (std::int64_t i = 0; i < b * width; ++i) {
    const bool drops =
        static_cast<double>(random.uniform(static_cast<std::uint64_t>(i / width))) < 0.5;
    CHECK(y[static_cast<std::size_t>(i)] == (drops ? 0 : std::numeric_limits<double>::infinity()));
  }
}
