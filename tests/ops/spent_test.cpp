// Operations that write over a tensor that is handed over as the last handle on it.
#include <catch2/catch.hpp>

#include <utility>
#include <vector>

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "tests/ops/element_ops.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor points(const Shape& shape, DType dtype = DType::kFloat32) {
  return ops::cast(uniform_tensor(shape, 0.3, 1.9, 7), dtype);
}

}  // namespace

TEST_CASE("spent: a map of the last handle has its memory, and the same bits", "[ops]") {
  const auto dtype = GENERATE(DType::kFloat32, DType::kFloat64, DType::kBFloat16);
  for (const ElementOp& op : element_ops()) {
    CAPTURE(op.name, name_of(dtype));
    const Tensor held = points({3, 37}, dtype);
    const std::vector<double> before = to_doubles(held);
    const Tensor expected = op.function(held);
    CHECK_FALSE(expected.same_storage(held));
    CHECK(to_doubles(held) == before);
    Tensor last = points({3, 37}, dtype);
    const Buffer memory = last.buffer();
    const Tensor y = op.function(std::move(last));
    CHECK(y.buffer() == memory);
    CHECK(to_doubles(y) == to_doubles(expected));
  }
}

TEST_CASE("spent: who else sees the memory sees no change", "[ops]") {
  const Tensor whole = points({4, 8});
  const std::vector<double> before = to_doubles(whole);
  (void)ops::relu(ops::neg(whole.rows(1, 2)));
  (void)ops::neg(whole.rows(1, 2));
  (void)ops::neg(whole.alias({32}));
  (void)ops::neg(whole.detach());
  (void)ops::add(whole.detach(), whole.detach());
  (void)ops::add_product(whole, whole.detach(), whole);
  Tensor other = whole;
  (void)ops::activate({}, std::move(other));
  CHECK(to_doubles(whole) == before);
}

TEST_CASE("spent: a sum has the memory of an operand of its shape and dtype", "[ops]") {
  const Tensor held = points({3, 5});
  const std::vector<double> before = to_doubles(held);
  const std::vector<double> expected = to_doubles(ops::add(held, ops::mul(held, 2.0)));
  const auto check = [&](const Tensor& y, const Buffer& memory) {
    CHECK(y.buffer() == memory);
    CHECK(to_doubles(y) == expected);
    CHECK(to_doubles(held) == before);
  };
  Tensor right = ops::mul(held, 2.0);
  const Buffer of_right = right.buffer();
  check(ops::add(held, std::move(right)), of_right);
  Tensor left = ops::mul(held, 2.0);
  const Buffer of_left = left.buffer();
  check(ops::add(std::move(left), held), of_left);

  // A row that is stretched is no memory for the result; the other operand is.
  Tensor row = points({1, 5});
  Tensor all = points({3, 5});
  const Buffer of_all = all.buffer();
  const std::vector<double> sums = to_doubles(ops::add(all.copy_on(cpu()), row));
  const Tensor y = ops::add(std::move(all), row);
  CHECK(y.buffer() == of_all);
  CHECK(to_doubles(y) == sums);
  const Tensor z = ops::add(held, std::move(row));
  CHECK(z.shape() == Shape{3, 5});
  CHECK(to_doubles(z) == sums);

  // Nor is one of another dtype.
  const Tensor narrow = ops::cast(held, DType::kBFloat16);
  CHECK(ops::add(narrow, points({3, 5})).dtype() == DType::kBFloat16);
}

TEST_CASE("spent: a sum with a product has the memory of its first factor", "[ops]") {
  const Tensor c = points({3, 5});
  const Tensor b = ops::mul(points({5}), 3.0);
  const std::vector<double> expected = to_doubles(ops::add_product(c, c, b));
  Tensor a = points({3, 5});
  const Buffer memory = a.buffer();
  const Tensor y = ops::add_product(c, std::move(a), b);
  CHECK(y.buffer() == memory);
  CHECK(to_doubles(y) == expected);
}

TEST_CASE("spent: what gradients flow through is never written over", "[ops]") {
  const auto dtype = DType::kFloat64;
  for (const ElementOp& op : element_ops()) {
    CAPTURE(op.name);
    Tensor leaf = trainable(points({7}, dtype));
    const Buffer memory = leaf.buffer();
    {
      const autograd::NoGrad no_grad;
      const Tensor y = op.function(std::move(leaf));
      CHECK(y.buffer() != memory);
      CHECK_FALSE(y.requires_grad());
    }
    const Tensor x = trainable(points({7}, dtype));
    const Tensor y = op.function(ops::mul(x, 1.25));
    autograd::backward(y, points({7}, dtype));
    const Tensor scaled = trainable(ops::mul(x.detach(), 1.25));
    autograd::backward(op.function(scaled), points({7}, dtype));
    CHECK(max_difference(x.grad(), ops::mul(scaled.grad(), 1.25)) < 1e-15);
  }
}

TEST_CASE("spent: a profile counts what is read and written all the same", "[ops]") {
  autograd::Profiler profiler;
  {
    const autograd::Profile scope(profiler);
    (void)ops::relu(points({64}));
  }
  const autograd::Event& event = profiler.events().back();
  CHECK(event.op == "relu");
  CHECK(event.read_bytes == 256);
  CHECK(event.written_bytes == 256);
}
