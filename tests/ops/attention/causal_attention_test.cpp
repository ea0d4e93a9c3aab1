// Causal attention: what lies above the diagonal has no effect and is not computed.
#include <limits>

#include "ops/attention/attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct CausalSizes {
  std::int64_t queries, keys;
};

constexpr std::int64_t kCausalHeads = 2, kCausalDim = 4;

Tensor attend(const std::vector<Tensor>& t, bool two_maps, bool fused, const Tensor& mask) {
  const ops::AttentionOptions options{0.5, true, mask};
  const auto view = [&](std::size_t of, std::int64_t first) {
    return ops::heads(t[of], kCausalHeads, kCausalDim, first, kCausalDim);
  };
  const ops::HeadView q1 = view(0, 0), k1 = view(1, 0), v = view(2, 0);
  if (!two_maps) {
    return fused ? ops::attention(q1, k1, v, options)
                 : ops::merge_heads(
                       ops::matmul(ops::attention_map(q1, k1, options), ops::take_heads(v)));
  }
  const ops::HeadView q2 = view(0, kCausalHeads * kCausalDim),
                      k2 = view(1, kCausalHeads * kCausalDim);
  if (fused) return ops::two_map_attention(q1, k1, q2, k2, v, t[3], t[4], options);
  const auto rows = [](const Tensor& c) {
    return ops::reshape(ops::permute(c, {0, 2, 1}), {c.size(0), c.size(2), c.size(1), 1});
  };
  return ops::merge_heads(
      ops::matmul(ops::add(ops::mul(rows(t[3]), ops::attention_map(q1, k1, options)),
                           ops::mul(rows(t[4]), ops::attention_map(q2, k2, options))),
                  ops::take_heads(v)));
}

std::vector<Shape> shapes_of(const CausalSizes& s) {
  const std::int64_t width = kCausalHeads * kCausalDim;
  return {{2, s.queries, 2 * width},
          {2, s.keys, 2 * width},
          {2, s.keys, width},
          {2, s.queries, kCausalHeads},
          {2, s.queries, kCausalHeads}};
}

std::vector<Tensor> operands(const CausalSizes& s, DType dtype, const Device& device = cpu()) {
  std::vector<Tensor> t;
  std::uint64_t seed = 3;
  for (const Shape& shape : shapes_of(s))
    t.push_back(trainable(ops::to(random_tensor(shape, ++seed, dtype), device)));
  return t;
}

}  // namespace

TEST_CASE("causal attention: fused equals composed around the edges of blocks",
          "[ops][attention]") {
  const auto s = GENERATE(values<CausalSizes>(
      {{1, 1}, {15, 15}, {32, 32}, {33, 33}, {100, 100}, {40, 130}, {130, 40}, {70, 1}, {1, 70}}));
  const bool two_maps = GENERATE(false, true);
  const bool masked = GENERATE(false, true);
  const DType dtype = GENERATE(DType::kFloat64, DType::kFloat32);
  CAPTURE(s.queries, s.keys, two_maps, masked);
  std::vector<std::uint8_t> allowed;
  for (std::int64_t i = 0; i < 2 * s.keys; ++i) allowed.push_back(i % 5 != 3 ? 1 : 0);
  const Tensor mask = masked ? Tensor::from(allowed, {2, s.keys}, cpu()) : Tensor();
  const std::vector<Tensor> a = operands(s, dtype);
  const std::vector<Tensor> b = operands(s, dtype);
  const Tensor ya = attend(a, two_maps, true, mask);
  const Tensor yb = attend(b, two_maps, false, mask);
  const double tolerance = dtype == DType::kFloat64 ? 1e-13 : 2e-5;
  CHECK(max_difference(ya, yb) < tolerance);
  const Tensor upstream = random_tensor(ya.shape(), 17, dtype);
  autograd::backward(ya, upstream);
  autograd::backward(yb, upstream);
  for (std::size_t i = 0; i < (two_maps ? 5 : 3); ++i) {
    CAPTURE(i);
    CHECK(max_difference(a[i].grad(), b[i].grad()) < 8 * tolerance);
  }
}

TEST_CASE("causal attention: the same bits for any number of threads", "[ops][attention][host]") {
  const bool two_maps = GENERATE(false, true);
  check_threads(
      [&](const auto& t) { return attend(t, two_maps, true, {}); },
      two_maps ? shapes_of({90, 90}) : std::vector<Shape>{{2, 90, 16}, {2, 90, 16}, {2, 90, 8}});
}

// What is computed and then multiplied by a zero of the map would be NaN, as in default bodies.
TEST_CASE("causal attention: early queries never meet late keys", "[ops][attention][host]") {
  const bool two_maps = GENERATE(false, true);
  const std::int64_t n = 96, width = kCausalHeads * kCausalDim;
  const std::vector<Tensor> t = operands({n, n}, DType::kFloat64);
  for (const std::size_t late : {1, 2}) {
    const std::int64_t row = t[late].size(-1);
    edit<double>(t[late], [&](auto values) {
      std::fill_n(values.begin() + (n - 1) * row, row, std::numeric_limits<double>::quiet_NaN());
    });
  }
  const Tensor y = attend(t, two_maps, true, {});
  autograd::backward(y, ops::ones_like(y));
  const auto finite = [](const Tensor& x, std::int64_t tokens) {
    const Tensor part = ops::slice(ops::slice(x, 0, 0, 1), 1, 0, tokens);
    double worst = 0;
    for (const double value : to_doubles(part)) worst += value - value;
    return worst == 0;
  };
  CHECK(y.size(-1) == width);
  CHECK(finite(y.detach(), n / 2));
  CHECK(finite(t[0].grad(), n / 2));
  CHECK_FALSE(finite(y.detach(), n));
}
