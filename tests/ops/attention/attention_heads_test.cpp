// Heads that share channels of q, k or v, wholly or in part.
#include "ops/attention/attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Where the heads lie; the second stream is used with two maps.
struct Layout {
  std::vector<std::int64_t> q, k, v, q2, k2;
};

constexpr std::int64_t kDim = 4;

const std::vector<Layout> kLayouts = {
    // queries shared by all, and in pairs
    {{0, 0, 0, 0}, {0, 4, 8, 12}, {0, 4, 8, 12}, {4, 4, 4, 4}, {12, 8, 4, 0}},
    {{0, 4, 0, 4}, {0, 4, 8, 12}, {0, 0, 4, 4}, {8, 12, 8, 12}, {12, 8, 4, 0}},
    // parts of queries, keys, values
    {{0, 3, 6, 9}, {0, 4, 8, 12}, {0, 4, 8, 12}, {4, 7, 9, 12}, {0, 4, 8, 12}},
    {{0, 4, 8, 12}, {0, 1, 2, 3}, {0, 4, 8, 12}, {0, 4, 8, 12}, {8, 7, 6, 5}},
    {{0, 4, 8, 12}, {0, 4, 8, 12}, {0, 2, 11, 12}, {12, 8, 4, 0}, {0, 4, 8, 12}},
};

// One tensor of everything or one each.
Tensor attend(const std::vector<Tensor>& t, const Layout& at, bool two_maps, bool fused,
              const ops::AttentionOptions& options) {
  const Tensor& k = t.size() > 1 ? t[1] : t[0];
  const Tensor& v = t.size() > 1 ? t[2] : t[0];
  const ops::HeadView q1{t[0], at.q, kDim}, k1{k, at.k, kDim}, values{v, at.v, kDim};
  if (!two_maps) {
    return fused ? ops::attention(q1, k1, values, options)
                 : ops::merge_heads(
                       ops::matmul(ops::attention_map(q1, k1, options), ops::take_heads(values)));
  }
  const ops::HeadView q2{t[0], at.q2, kDim}, k2{k, at.k2, kDim};
  const Shape rows{t[0].size(0), t[0].size(1), 4};
  const Tensor c1 = ops::full(rows, 1.5, t[0].dtype(), t[0].device());
  const Tensor c2 = ops::full(rows, -0.5, t[0].dtype(), t[0].device());
  if (fused) return ops::two_map_attention(q1, k1, q2, k2, values, c1, c2, options);
  const Tensor map = ops::add(ops::mul(ops::attention_map(q1, k1, options), 1.5),
                              ops::mul(ops::attention_map(q2, k2, options), -0.5));
  return ops::merge_heads(ops::matmul(map, ops::take_heads(values)));
}

}  // namespace

TEST_CASE("attention: gradients of heads that share channels", "[ops][attention][long]") {
  const auto layout = GENERATE(from_range(kLayouts));
  const bool two_maps = GENERATE(false, true);
  const bool one_tensor = GENERATE(false, true);
  const ops::AttentionOptions options{0.4, GENERATE(false, true), {}};
  std::vector<Tensor> inputs;
  for (std::uint64_t i = 0; i < (one_tensor ? 1 : 3); ++i)
    inputs.push_back(random_tensor({2, 3, 16}, 11 + i));
  const auto run = [&](const auto& t) { return attend(t, layout, two_maps, true, options); };
  check_gradients(run, inputs);
  CHECK(max_difference(run(inputs), attend(inputs, layout, two_maps, false, options)) < 1e-13);
}

// Many wide heads over few channels, and next to nothing to compute: without turns, some of the
// sums get lost.
TEST_CASE("attention: sums over shared channels are whole with many threads",
          "[ops][attention][host]") {
  const bool two_maps = GENERATE(false, true);
  const int part = GENERATE(0, 1, 2);  // q, k or v
  CAPTURE(two_maps, part);
  constexpr std::int64_t heads = 16, dim = 16, many = 500, few = 2;
  const std::int64_t queries = part == 0 ? many : few, keys = part == 0 ? few : many;
  const auto offsets = [&](bool shared, std::int64_t step) {
    std::vector<std::int64_t> all;
    for (std::int64_t head = 0; head < heads; ++head) all.push_back(head * (shared ? 1 : step));
    return all;
  };
  const auto run = [&](const Device& device) {
    std::vector<Tensor> t;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const Shape shape{1, i == 0 ? queries : keys, heads * dim};
      t.push_back(trainable(ops::to(random_tensor(shape, 5 + i), device)));
    }
    const auto view = [&](std::size_t i) {
      return ops::HeadView{t[i], offsets(static_cast<int>(i) == part, dim), dim};
    };
    const ops::HeadView q = view(0), k = view(1), v = view(2);
    const Tensor c = ops::full({1, queries, heads}, 0.5, DType::kFloat64, device);
    const Tensor y = two_maps ? ops::two_map_attention(q, k, q, k, v, c, c, {0.4, false, {}})
                              : ops::attention(q, k, v, {0.4, false, {}});
    autograd::backward(y, ops::to(random_tensor(y.shape(), 9), device));
    return to_doubles(t[static_cast<std::size_t>(part)].grad());
  };
  const std::vector<double> once = run(make_cpu(1));
  const Device device = make_cpu(8);
  int different = 0;
  for (int turn = 0; turn < 12; ++turn) different += run(device) == once ? 0 : 1;
  CHECK(different == 0);
}
