#include "ops/attention/linear_attention.h"

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr std::int64_t kLinearHeads = 3;

struct LinearSizes {
  std::int64_t n, dim, width;
};

// q | k | v of all heads in one tensor, as a fused projection has them.
ops::HeadView part(const Tensor& qkv, const LinearSizes& s, int which, std::int64_t first = 0) {
  const std::int64_t begin = which * kLinearHeads * s.dim;
  return ops::heads(qkv, kLinearHeads, which == 2 ? s.width : s.dim, begin + first,
                    which == 2 ? s.width : s.dim);
}

std::int64_t linear_width(const LinearSizes& s) { return kLinearHeads * (2 * s.dim + s.width); }

}  // namespace

TEST_CASE("elu_plus_one: values, and a derivative of 1 at 0", "[ops]") {
  const Tensor x = trainable(Tensor::from(std::vector<double>{-40, -1, 0, 2}, {4}, cpu()));
  const Tensor y = ops::elu_plus_one(x);
  const std::vector<double> expected = {std::exp(-40), std::exp(-1), 1, 3};
  for (std::size_t i = 0; i < 4; ++i) CHECK(to_doubles(y)[i] == Approx(expected[i]));
  autograd::backward(y, ops::ones_like(y));
  const std::vector<double> slopes = {std::exp(-40), std::exp(-1), 1, 1};
  for (std::size_t i = 0; i < 4; ++i) CHECK(to_doubles(x.grad())[i] == Approx(slopes[i]));
}

TEST_CASE("linear attention: gradients and the n x n form", "[ops]") {
  const auto s = GENERATE(LinearSizes{5, 4, 6}, LinearSizes{1, 1, 1}, LinearSizes{131, 3, 2});
  const Tensor qkv = random_tensor({2, s.n, linear_width(s)}, 3);
  const auto attend = [&](const Tensor& t) {
    return ops::linear_attention(part(t, s, 0), part(t, s, 1), part(t, s, 2), {});
  };
  if (s.n < 100) check_gradients([&](const auto& t) { return attend(t[0]); }, {qkv});
  const Tensor map = ops::linear_attention_map(part(qkv, s, 0), part(qkv, s, 1), {});
  const Tensor expected = ops::merge_heads(ops::matmul(map, ops::take_heads(part(qkv, s, 2))));
  CHECK(max_difference(attend(qkv), expected) < 1e-10);
}

TEST_CASE("linear attention of two maps: gradients, of lambda too, and the n x n form", "[ops]") {
  const LinearSizes s{5, 6, 4};
  const Tensor qkv = random_tensor({2, s.n, linear_width(s)}, 4);
  const Tensor lambda = random_tensor({kLinearHeads, s.width}, 5);
  const auto half = [&](const Tensor& t, int which, std::int64_t second) {
    return ops::heads(t, kLinearHeads, s.dim / 2, which * kLinearHeads * s.dim + second * s.dim / 2,
                      s.dim);
  };
  const auto attend = [&](const Tensor& t, const Tensor& by) {
    return ops::two_map_linear_attention(half(t, 0, 0), half(t, 1, 0), half(t, 0, 1), half(t, 1, 1),
                                         part(t, s, 2), by, {});
  };
  check_gradients([&](const auto& t) { return attend(t[0], t[1]); }, {qkv, lambda});
  const Tensor v = ops::take_heads(part(qkv, s, 2));
  const auto result = [&](std::int64_t second) {
    return ops::matmul(ops::linear_attention_map(half(qkv, 0, second), half(qkv, 1, second), {}),
                       v);
  };
  const Tensor scaled = ops::mul(ops::reshape(lambda, {1, kLinearHeads, 1, s.width}), result(1));
  CHECK(max_difference(attend(qkv, lambda), ops::merge_heads(ops::sub(result(0), scaled))) < 1e-10);
}

TEST_CASE("linear attention: finished heads are those of a norm and a product with a gate",
          "[ops]") {
  const LinearSizes s{5, 4, 6};
  const Tensor qkvg = random_tensor({2, s.n, linear_width(s) + kLinearHeads * s.width}, 9);
  const Tensor weight = random_tensor({s.width}, 10);
  const auto op = GENERATE(UnaryOp::kSilu, UnaryOp::kSigmoid);
  const auto finished = [&](const Tensor& t, const Tensor& by) {
    const ops::HeadView gate = ops::heads(t, kLinearHeads, s.width, linear_width(s), s.width);
    return ops::linear_attention(part(t, s, 0), part(t, s, 1), part(t, s, 2), {},
                                 {.weight = by, .norm_eps = 1e-3, .gate = gate, .gate_op = op});
  };
  check_gradients([&](const auto& t) { return finished(t[0], t[1]); }, {qkvg, weight});
  const Tensor y = ops::linear_attention(part(qkvg, s, 0), part(qkvg, s, 1), part(qkvg, s, 2), {});
  const Tensor normed =
      ops::rms_norm(ops::reshape(y, {2, s.n, kLinearHeads, s.width}), weight, 1e-3);
  const Tensor g = ops::slice(qkvg, -1, linear_width(s), kLinearHeads * s.width);
  const Tensor expected = ops::mul(ops::reshape(normed, y.shape()),
                                   op == UnaryOp::kSilu ? ops::silu(g) : ops::sigmoid(g));
  CHECK(max_difference(finished(qkvg, weight), expected) < 1e-10);
  const ops::HeadView narrow =
      ops::heads(qkvg, kLinearHeads, s.width - 1, linear_width(s), s.width);
  CHECK_THROWS_WITH(ops::linear_attention(part(qkvg, s, 0), part(qkvg, s, 1), part(qkvg, s, 2), {},
                                          {.weight = {}, .gate = narrow}),
                    Catch::Contains("with 3 heads of 5; expected (2, 5, width) with 3 of 6"));
}

TEST_CASE("linear attention: rows of the map on demand are rows of the map", "[ops]") {
  const LinearSizes s{7, 4, 4};
  const Tensor qkv = random_tensor({2, s.n, linear_width(s)}, 6);
  const Tensor all = ops::linear_attention_map(part(qkv, s, 0), part(qkv, s, 1), {});
  const Tensor some = ops::linear_attention_map(part(qkv, s, 0), part(qkv, s, 1), {}, 2, 3);
  CHECK(max_difference(ops::slice(all, 2, 2, 3), some) == 0.0);
}

TEST_CASE("linear attention: as many threads as you like give the same bits", "[ops][host]") {
  const bool causal = GENERATE(false, true);
  // The second is large enough for more pieces.
  for (const LinearSizes& s : {LinearSizes{300, 8, 8}, LinearSizes{16384, 32, 64}}) {
    CAPTURE(s.n, causal);
    const Tensor qkv = random_tensor({2, s.n, linear_width(s)}, 7, DType::kFloat32);
    const auto on = [&](int threads) {
      const Tensor t = trainable(qkv.copy_on(make_cpu(threads)));
      const Tensor y =
          ops::linear_attention(part(t, s, 0), part(t, s, 1), part(t, s, 2), {.causal = causal});
      autograd::backward(y, ops::ones_like(y));
      return std::make_pair(to_doubles(y), to_doubles(t.grad()));
    };
    const auto one = on(1);
    CHECK(on(2) == one);
    CHECK(on(5) == one);
  }
}

TEST_CASE("linear attention: heads that share channels are refused", "[ops]") {
  const LinearSizes s{5, 4, 4};
  const Tensor qkv = random_tensor({1, s.n, linear_width(s)}, 8);
  CHECK_THROWS_WITH(ops::linear_attention(part(qkv, s, 0), part(qkv, s, 0), part(qkv, s, 2), {}),
                    Catch::Contains("heads share channels"));
}

TEST_CASE("linear attention: gradients that no cache holds are those of the items alone",
          "[ops][long]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kBFloat16);
  const LinearSizes s{dtype == DType::kFloat32 ? 14600 : 29200, 32, 32};
  const Tensor qkv =
      ops::cast(random_tensor({2, s.n, linear_width(s)}, 11, DType::kFloat32), dtype);
  REQUIRE(qkv.bytes() > 32 << 20);
  const auto gradient = [&](const Tensor& x) {
    const Tensor t = trainable(x);
    const Tensor y = ops::linear_attention(part(t, s, 0), part(t, s, 1), part(t, s, 2), {});
    autograd::backward(y, ops::mul(y.detach(), y.detach()));
    return t.grad();
  };
  const Tensor both = gradient(qkv);
  for (std::int64_t item = 0; item < 2; ++item) {
    const Tensor alone = gradient(ops::slice(qkv, 0, item, 1).detach());
    const auto largest = [](const Tensor& x) { return to_doubles(ops::max(ops::abs(x))).front(); };
    // Sums over keys are cut elsewhere.
    CHECK(largest(ops::sub(ops::slice(both, 0, item, 1), alone)) <
          (dtype == DType::kFloat32 ? 1e-4 : 1e-2) * largest(alone));
  }
}
