#include "tensor/tensor.h"

#include <limits>

#include "backend/devices.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("tensor: sizes and bytes that cannot be counted are refused", "[tensor]") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const Device device = GENERATE(make_cpu(1), make_meta());
  for (const Shape& shape : {Shape{kHuge}, Shape{kHuge, 2}, Shape{1 << 30, 1 << 30, 1 << 2},
                             Shape{kHuge, kHuge}, Shape{0, kHuge, kHuge}, Shape{kHuge, kHuge, 0}}) {
    CAPTURE(to_string(shape), device.name());
    CHECK_THROWS_AS(Tensor::empty(shape, DType::kFloat32, device), ShapeError);
    CHECK_THROWS_AS(Tensor::empty(shape, DType::kFloat64, device), ShapeError);
  }
  CHECK_THROWS_WITH(Tensor::empty({kHuge}, DType::kFloat32, device),
                    Catch::Contains("float32 (4611686018427387904) has too many bytes"));
  CHECK_THROWS_WITH(Tensor::empty({kHuge, 2}, DType::kUint8, device),
                    Catch::Contains("has too many elements"));
  // These can be counted, but not be had.
  CHECK_THROWS_WITH(Tensor::empty({kHuge}, DType::kUint8, device),
                    Catch::Contains("out of memory: a tensor of 4611686018427387904 bytes"));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(Tensor::empty({kMost}, DType::kUint8, device), BackendError);
  CHECK(Tensor::empty({0, 1 << 20, 1 << 20}, DType::kFloat32, device).numel() == 0);
}

TEST_CASE("tensor: many tensors of a size that can be counted end in one error", "[tensor]") {
  const Device meta = make_meta();
  std::vector<Tensor> held;
  const auto hold = [&] {
    for (int i = 0; i < 64; ++i)
      held.push_back(Tensor::empty({std::int64_t{1} << 60}, DType::kUint8, meta));
  };
  CHECK_THROWS_WITH(hold(), Catch::Contains("out of memory"));
  CHECK(meta.allocator().stats().bytes_in_use > 0);
  // Memory that was given back is not counted for ever.
  for (std::int64_t i = 0; i < 8; ++i) {
    held.clear();
    held.push_back(Tensor::empty({(std::int64_t{1} << 60) + (i << 57)}, DType::kUint8, meta));
    CHECK(meta.allocator().stats().bytes_reserved > 0);
  }
}

TEST_CASE("reshape: a product of sizes that overflows is refused", "[tensor]") {
  const Tensor x = random_tensor({4, 4}, 1);
  constexpr std::int64_t kRoot = std::int64_t{1} << 32;
  CHECK_THROWS_AS(ops::reshape(x, {kRoot, kRoot, -1}), ShapeError);
  CHECK_THROWS_AS(ops::reshape(x, {kRoot, kRoot, 16}), ShapeError);
  CHECK_THROWS_AS(ops::reshape(x, {-2, -1}), ShapeError);
  CHECK(ops::reshape(x, {2, -1}).shape() == Shape{2, 8});
}

TEST_CASE("device: all devices of the host are equal, and their tensors may meet", "[tensor]") {
  const Device one = make_cpu(1);
  const Device two = make_cpu(2);
  CHECK(one == two);
  CHECK_FALSE(one.is(two));
  CHECK(one.is(Device(one)));
  CHECK(make_meta() == make_meta());
  CHECK_FALSE(one == make_meta());
  CHECK_FALSE(one == Device());
  const Tensor a = trainable(Tensor::from<double>({1, 2, 3}, {3}, one));
  const Tensor b = trainable(Tensor::from<double>({10, 20, 30}, {3}, two));
  const Tensor y = ops::mul(a, b);
  CHECK(to_doubles(y) == std::vector<double>{10, 40, 90});
  CHECK(y.device().is(one));
  autograd::backward(y, Tensor::from<double>({1, 1, 1}, {3}, two));
  CHECK(to_doubles(a.grad()) == std::vector<double>{10, 20, 30});
  CHECK(to_doubles(b.grad()) == std::vector<double>{1, 2, 3});
  // Asked for, a tensor does move to the allocator and the threads of another.
  CHECK(ops::to(a, two).device().is(two));
  CHECK(ops::to(a, one).id() == a.id());
  const Tensor meta = Tensor::empty({3}, DType::kFloat64, make_meta());
  CHECK_THROWS_WITH(ops::add(a, meta), Catch::Contains("add: inputs are on devices cpu and meta"));
}

TEST_CASE("tensor: writes are counted by all that share the memory", "[tensor]") {
  const Tensor x = Tensor::empty({4, 2}, DType::kFloat32, cpu());
  CHECK(x.version() == 0);
  CHECK(std::string(x.writer()).empty());
  const Tensor copy = x;
  const Tensor view = x.alias({2, 4});
  const Tensor shape = x.without_values();
  x.rows(1, 2).written("fill");
  view.written("sgd");
  for (const Tensor& same : {x, copy, view, x.detach()}) {
    CHECK(same.version() == 2);
    CHECK(std::string(same.writer()) == "sgd");
  }
  CHECK(shape.version() == 0);
  CHECK(Tensor::empty_like(x).version() == 0);
}
