#include "ops/conv/patch_logits.h"

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/shape.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

ops::PatchHead head_of(const std::vector<Tensor>& t) {
  return {.expand = t[1], .weight = t[2], .bias = t[3], .classes = t[4], .eps = 1e-5};
}

// The same with all channels of all places there at once. x: (b, d, h, w, c).
Tensor all_at_once(const Tensor& x, const ops::PatchHead& head, const ops::Sizes& p) {
  const std::int64_t b = x.size(0), d = x.size(1), h = x.size(2), w = x.size(3), c = x.size(4);
  const Tensor wide = ops::reshape(ops::linear(x, head.expand), {b, d, h, w, p[0], p[1], p[2], c});
  const Tensor normed = ops::layer_norm(wide, head.weight, head.bias, head.eps);
  const Tensor logits = ops::permute(ops::linear(normed, head.classes), {0, 7, 1, 4, 2, 5, 3, 6});
  return ops::reshape(logits, {b, head.classes.size(0), d * p[0], h * p[1], w * p[2]});
}

std::vector<Tensor> inputs_for(const Shape& x, std::int64_t places, std::int64_t classes,
                               DType dtype = DType::kFloat64) {
  const std::int64_t c = x[x.rank() - 1];
  return {random_tensor(x, 1, dtype), random_tensor({places * c, c}, 2, dtype),
          random_tensor({c}, 3, dtype), random_tensor({c}, 4, dtype),
          random_tensor({classes, c}, 5, dtype)};
}

}  // namespace

TEST_CASE("patch_logits: gradients of tokens and parameters", "[ops]") {
  check_gradients(
      [](const auto& t) {
        return ops::patch_logits(t[0], head_of(t), {2, 1, 3});
      },
      inputs_for({2, 2, 3, 2, 5}, 6, 3));
  check_gradients(
      [](const auto& t) {
        return ops::patch_logits(t[0], head_of(t), {2, 3});
      },
      inputs_for({2, 3, 2, 5}, 6, 2));
}

TEST_CASE("patch_logits: stretches of tokens give what all at once gives", "[ops][long]") {
  // 96 channels and 4 x 100 places a row: a plane has several stretches.
  const auto [dtype, tolerance] = GENERATE(table<DType, double>(
      {{DType::kFloat64, 1e-12}, {DType::kFloat32, 2e-5}, {DType::kBFloat16, 2e-2}}));
  CAPTURE(name_of(dtype));
  const auto run = [](bool whole, DType type) {
    std::vector<Tensor> leaves, given;
    for (const Tensor& x : inputs_for({2, 2, 33, 100, 16}, 16, 3, DType::kFloat32)) {
      leaves.push_back(trainable(x));
      given.push_back(ops::cast(leaves.back(), given.empty() ? type : compute_dtype(type)));
    }
    const Tensor y = whole ? all_at_once(given[0], head_of(given), {2, 2, 4})
                           : ops::patch_logits(given[0], head_of(given), {2, 2, 4});
    autograd::backward(y, ops::cast(random_tensor(y.shape(), 9, DType::kFloat32), type));
    std::vector<Tensor> results{y};
    for (const Tensor& leaf : leaves) results.push_back(leaf.grad());
    return results;
  };
  const std::vector<Tensor> found = run(false, dtype);
  const std::vector<Tensor> expected = run(true, DType::kFloat64);
  for (std::size_t i = 0; i < found.size(); ++i) {
    double largest = 0;
    for (const double value : to_doubles(expected[i])) largest = std::max(largest, std::abs(value));
    CAPTURE(i, largest);
    CHECK(max_difference(found[i], expected[i]) <= tolerance * largest);
  }
}

TEST_CASE("patch_logits: the same bits for any number of threads", "[ops][host]") {
  check_threads(
      [](const auto& t) {
        return ops::patch_logits(t[0], head_of(t), {2, 4, 4});
      },
      {{1, 2, 20, 40, 24}, {32 * 24, 24}, {24}, {24}, {5, 24}});
}

TEST_CASE("patch_logits: memory is that of the result and a stretch", "[ops][host]") {
  const Device device = make_cpu(1);
  std::vector<Tensor> t;
  for (const Shape& shape :
       {Shape{1, 16, 32, 32, 32}, Shape{32 * 32, 32}, Shape{32}, Shape{32}, Shape{2, 32}})
    t.push_back(ops::zeros(shape, DType::kFloat32, device));
  const std::int64_t before = device.allocator().stats().bytes_in_use;
  device.allocator().reset_peak();
  const Tensor y = ops::patch_logits(t[0], head_of(t), {2, 4, 4});
  const std::int64_t all_channels = t[0].bytes() * 32;
  CHECK(device.allocator().stats().peak_bytes - before < y.bytes() + all_channels / 4);
}

TEST_CASE("patch_logits: sizes that do not fit are refused", "[ops]") {
  const auto t = inputs_for({1, 2, 2, 2, 3}, 4, 2);
  CHECK_THROWS_WITH(ops::patch_logits(t[0], head_of(t), {2, 2}),
                    Catch::Contains("x is (1, 2, 2, 2, 3), patches are (2, 2)"));
  CHECK_THROWS_WITH(ops::patch_logits(t[0], head_of(t), {2, 2, 2}),
                    Catch::Contains("expected float64 (24, 3), (3), (3), (k, 3)"));
}
