#include "ops/attention/attention.h"

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct AttentionSizes {
  std::int64_t b, heads, n, keys, dim, v_dim;
};

Tensor mask_for(const AttentionSizes& s) {
  std::vector<std::uint8_t> bits;
  for (std::int64_t i = 0; i < s.b * s.keys; ++i) bits.push_back(i % 3 != 1 ? 1 : 0);
  for (std::int64_t j = 0; j < s.keys; ++j)
    bits[static_cast<std::size_t>(j)] = s.b > 1 ? 0 : 1;  // item 0: nothing valid
  return Tensor::from(bits, {s.b, s.keys}, cpu());
}

Tensor composed(const ops::HeadView& q, const ops::HeadView& k, const ops::HeadView& v,
                const ops::AttentionOptions& o) {
  return ops::merge_heads(ops::matmul(ops::attention_map(q, k, o), ops::take_heads(v)));
}

// (b, n, h) -> (b, h, n, 1)
Tensor as_rows(const Tensor& c) {
  return ops::reshape(ops::permute(c, {0, 2, 1}), {c.size(0), c.size(2), c.size(1), 1});
}

}  // namespace

TEST_CASE("attention: fused equals composed, and gradients", "[ops][attention]") {
  const auto s = GENERATE(
      values<AttentionSizes>({{2, 3, 5, 5, 4, 2}, {1, 1, 1, 1, 1, 1}, {2, 2, 3, 7, 3, 5}}));
  const bool causal = GENERATE(false, true);
  const bool masked = GENERATE(false, true);
  const ops::AttentionOptions options{0.3, causal, masked ? mask_for(s) : Tensor()};
  const auto run = [&](const auto& t, bool fused) {
    const auto q = ops::heads(t[0], s.heads, s.dim, 0, s.dim);
    const auto k = ops::heads(t[1], s.heads, s.dim, 0, s.dim);
    const auto v = ops::heads(t[2], s.heads, s.v_dim, 0, s.v_dim);
    return fused ? ops::attention(q, k, v, options) : composed(q, k, v, options);
  };
  const std::vector<Tensor> inputs = {random_tensor({s.b, s.n, s.heads * s.dim}, 1),
                                      random_tensor({s.b, s.keys, s.heads * s.dim}, 2),
                                      random_tensor({s.b, s.keys, s.heads * s.v_dim}, 3)};
  CHECK(max_difference(run(inputs, true), run(inputs, false)) < 1e-13);
  check_gradients([&](const auto& t) { return run(t, true); }, inputs);
}

TEST_CASE("attention: long sequences in blocks, float32, one fused projection",
          "[ops][attention]") {
  const std::int64_t n = 150;
  const auto run = [&](const Tensor& qkv, bool fused) {
    const auto q = ops::heads(qkv, 2, 8, 0, 8);
    const auto k = ops::heads(qkv, 2, 8, 16, 8);
    const auto v = ops::heads(qkv, 2, 8, 32, 8);
    const ops::AttentionOptions options{0.35, false, {}};
    return fused ? ops::attention(q, k, v, options) : composed(q, k, v, options);
  };
  const Tensor base = random_tensor({2, n, 48}, 4, DType::kFloat32);
  const Tensor upstream = random_tensor({2, n, 16}, 5, DType::kFloat32);
  const Tensor a = trainable(ops::clone(base));
  const Tensor b = trainable(ops::clone(base));
  const Tensor ya = run(a, true);
  const Tensor yb = run(b, false);
  CHECK(max_difference(ya, yb) < 1e-5);
  autograd::backward(ya, upstream);
  autograd::backward(yb, upstream);
  CHECK(max_difference(a.grad(), b.grad()) < 2e-5);
}

TEST_CASE("two_map_attention: fused equals composed, and gradients", "[ops][attention][long]") {
  const auto s = GENERATE(
      values<AttentionSizes>({{2, 2, 5, 5, 3, 6}, {1, 1, 1, 1, 1, 2}, {2, 2, 3, 4, 2, 3}}));
  const bool interleaved = GENERATE(true, false);
  const bool masked = GENERATE(false, true);
  const ops::AttentionOptions options{0.4, false, masked ? mask_for(s) : Tensor()};
  const std::int64_t step = interleaved ? 2 * s.dim : s.dim;
  const std::int64_t second = interleaved ? s.dim : s.heads * s.dim;
  const auto run = [&](const auto& t, bool fused) {
    const auto q1 = ops::heads(t[0], s.heads, s.dim, 0, step);
    const auto q2 = ops::heads(t[0], s.heads, s.dim, second, step);
    const auto k1 = ops::heads(t[1], s.heads, s.dim, 0, step);
    const auto k2 = ops::heads(t[1], s.heads, s.dim, second, step);
    const auto v = ops::heads(t[2], s.heads, s.v_dim, 0, s.v_dim);
    if (fused) return ops::two_map_attention(q1, k1, q2, k2, v, t[3], t[4], options);
    const Tensor map = ops::add(ops::mul(as_rows(t[3]), ops::attention_map(q1, k1, options)),
                                ops::mul(as_rows(t[4]), ops::attention_map(q2, k2, options)));
    return ops::merge_heads(ops::matmul(map, ops::take_heads(v)));
  };
  const std::vector<Tensor> inputs = {random_tensor({s.b, s.n, 2 * s.heads * s.dim}, 1),
                                      random_tensor({s.b, s.keys, 2 * s.heads * s.dim}, 2),
                                      random_tensor({s.b, s.keys, s.heads * s.v_dim}, 3),
                                      random_tensor({s.b, s.n, s.heads}, 4),
                                      random_tensor({s.b, s.n, s.heads}, 5)};
  CHECK(max_difference(run(inputs, true), run(inputs, false)) < 1e-13);
  check_gradients([&](const auto& t) { return run(t, true); }, inputs);
}

TEST_CASE("two_map_attention: heads that share keys add up their gradients", "[ops][attention]") {
  const ops::AttentionOptions options{0.5, true, {}};
  check_gradients(
      [&](const auto& t) {
        const ops::HeadView q1{t[0], {0, 4, 8}, 2};
        const ops::HeadView q2{t[0], {2, 6, 10}, 2};
        const ops::HeadView k1{t[1], {0, 0, 2}, 2};
        const ops::HeadView k2{t[1], {0, 2, 2}, 2};
        const ops::HeadView v{t[2], {0, 0, 0}, 4};
        return ops::two_map_attention(q1, k1, q2, k2, v, t[3], t[4], options);
      },
      {random_tensor({2, 4, 12}, 1), random_tensor({2, 4, 4}, 2), random_tensor({2, 4, 4}, 3),
       random_tensor({2, 4, 3}, 4), random_tensor({2, 4, 3}, 5)});
}

TEST_CASE("attention: permuting tokens permutes outputs; a masked key changes nothing",
          "[ops][attention]") {
  const Tensor x = random_tensor({1, 6, 8}, 1);
  const auto self = [](const Tensor& t, const Tensor& mask) {
    const auto view = ops::heads(t, 2, 4, 0, 4);
    return ops::attention(view, view, view, {0.5, false, mask});
  };
  CHECK(max_difference(self(ops::flip(x, 1), {}), ops::flip(self(x, {}), 1)) < 1e-14);
  const Tensor mask = Tensor::from<std::uint8_t>({1, 1, 1, 1, 1, 0}, {1, 6}, cpu());
  Tensor changed = ops::clone(x);
  edit<double>(changed, [](auto values) {
    for (std::size_t i = 40; i < 48; ++i) values[i] += 5;
  });
  CHECK(max_difference(ops::slice(self(x, mask), 1, 0, 5),
                       ops::slice(self(changed, mask), 1, 0, 5)) == 0.0);
}

TEST_CASE("attention: memory grows linearly with the number of tokens", "[ops][attention][host]") {
  const auto peak = [](std::int64_t n) {
    const Device device = make_cpu(1);
    const Tensor qkv = trainable(ops::zeros({1, n, 24}, DType::kFloat32, device));
    const Tensor y = ops::attention(ops::heads(qkv, 1, 8, 0, 8), ops::heads(qkv, 1, 8, 8, 8),
                                    ops::heads(qkv, 1, 8, 16, 8), {});
    autograd::backward(y, ops::ones_like(y));
    return device.allocator().stats().peak_bytes;
  };
  CHECK(peak(2048) < 3 * peak(1024));
}

TEST_CASE("attention: wrong shapes are named", "[ops][attention]") {
  const Tensor x = random_tensor({2, 3, 8}, 1);
  const auto view = ops::heads(x, 2, 4, 0, 4);
  CHECK_THROWS_WITH(ops::attention(view, ops::heads(x, 2, 3, 0, 4), view, {}),
                    Catch::Contains("equal batch, heads and head_dim"));
  CHECK_THROWS_WITH(ops::attention(view, view, ops::heads(x, 2, 4, 4, 4), {}),
                    Catch::Contains("takes channels [8, 12) of 8"));
  CHECK_THROWS_WITH(ops::attention(view, view, view, {1.0, false, random_tensor({2, 3}, 1)}),
                    Catch::Contains("expected uint8 (2, 3)"));
}

TEST_CASE("attention: padded keys change nothing and get no gradient", "[ops][attention]") {
  const bool fused_projection = GENERATE(true, false);
  const DType dtype = GENERATE(DType::kFloat64, DType::kFloat32);
  const std::int64_t b = 4, n = 37, heads = 2, dim = 4;
  const std::vector<std::int64_t> lengths = {37, 1, 20, 0};
  std::vector<std::uint8_t> bits;
  for (const std::int64_t length : lengths) {
    for (std::int64_t j = 0; j < n; ++j) bits.push_back(j < length ? 1 : 0);
  }
  const ops::AttentionOptions options{0.5, false, Tensor::from(bits, {b, n}, cpu())};
  const auto run = [&](const std::vector<Tensor>& t, bool fused) {
    const auto q1 = ops::heads(t[0], heads, dim, 0, 2 * dim);
    const auto q2 = ops::heads(t[0], heads, dim, dim, 2 * dim);
    const std::int64_t second = fused_projection ? 2 * heads * dim : 0;
    const Tensor& key = fused_projection ? t[0] : t[1];
    const auto k1 = ops::heads(key, heads, dim, second, 2 * dim);
    const auto k2 = ops::heads(key, heads, dim, second + dim, 2 * dim);
    const auto v = ops::heads(t[2], heads, 2 * dim, 0, 2 * dim);
    if (fused) return ops::two_map_attention(q1, k1, q2, k2, v, t[3], t[4], options);
    const Tensor map = ops::add(ops::mul(as_rows(t[3]), ops::attention_map(q1, k1, options)),
                                ops::mul(as_rows(t[4]), ops::attention_map(q2, k2, options)));
    return ops::merge_heads(ops::matmul(map, ops::take_heads(v)));
  };
  const std::int64_t width = 2 * heads * dim;
  const auto inputs = [&] {
    std::vector<Tensor> t = {
        random_tensor({b, n, fused_projection ? 2 * width : width}, 1, dtype),
        random_tensor({b, n, width}, 2, dtype), random_tensor({b, n, width}, 3, dtype),
        random_tensor({b, n, heads}, 4, dtype), random_tensor({b, n, heads}, 5, dtype)};
    for (Tensor& tensor : t) tensor = trainable(ops::clone(tensor));
    return t;
  };
  const std::vector<Tensor> a = inputs();
  const std::vector<Tensor> c = inputs();
  const double tolerance = dtype == DType::kFloat64 ? 1e-13 : 1e-5;
  const Tensor y = run(a, true);
  CHECK(max_difference(y, run(c, false)) < tolerance);
  const Tensor upstream = random_tensor({b, n, width}, 6, dtype);
  autograd::backward(y, upstream);
  autograd::backward(run(c, false), upstream);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i == 1 && fused_projection) continue;
    CHECK(max_difference(a[i].grad(), c[i].grad()) < 4 * tolerance);
  }
  for (std::int64_t j = lengths[1]; j < n; ++j) {
    for (std::int64_t i = 0; i < width; ++i)
      CHECK(to_doubles(a[2].grad())[static_cast<std::size_t>((n + j) * width + i)] == 0);
  }
}
