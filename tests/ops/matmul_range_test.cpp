// Products of numbers at the ends of their range, by every kernel this processor has. (FOVEA_SIMD
// chooses lesser ones; the suite runs with each.)
#include <cmath>
#include <limits>

#include "backend/backend.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr float kFloatInf = std::numeric_limits<float>::infinity();
constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();

// On both sides of what the kernels for large products take, deep enough for two of their waves.
struct ProductSizes {
  std::int64_t m, n, k;
};

std::vector<ProductSizes> all_sizes() {
  return {{3, 5, 7}, {128, 16, 32}, {145, 49, 33}, {300, 40, 1100}, {1200, 300, 64}};
}

// An operand as the host writes it, all ones at first.
struct Numbers {
  Numbers(std::int64_t rows, std::int64_t columns)
      : shape{rows, columns}, values(static_cast<std::size_t>(rows * columns), 1) {}
  float& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * shape[1] + column)];
  }
  Tensor tensor() const { return Tensor::from(values, shape, cpu()); }

  Shape shape;
  std::vector<float> values;
};

Tensor product(const Tensor& a, const Tensor& b, bool ta, bool tb) {
  // Stored transposed where asked for.
  const auto stored = [](const Tensor& x, bool trans) {
    return trans ? ops::transpose(x, 0, 1) : x;
  };
  return ops::matmul(stored(a, ta), stored(b, tb), ta, tb);
}

bool same(float got, float want) { return std::isnan(want) ? std::isnan(got) : got == want; }

}  // namespace

TEST_CASE("matmul: infinities and NaN give what IEEE gives", "[ops]") {
  const auto [m, n, k] = GENERATE(from_range(all_sizes()));
  const bool ta = GENERATE(false, true);
  const bool tb = GENERATE(false, true);
  const bool left = GENERATE(false, true);
  CAPTURE(m, n, k, ta, tb, left);
  for (const float value : {kFloatInf, -kFloatInf, kFloatNan, kMost, -kMost}) {
    CAPTURE(value);
    Numbers a(m, k);
    Numbers b(k, n);
    // One number in the last row or column, in the last place of the inner axis. That of the other
    // operand that meets it is 0.5, and once 0.
    const std::int64_t at = k - 1;
    if (left) {
      a.at(m - 1, at) = value;
      for (std::int64_t j = 0; j < n; ++j) b.at(at, j) = 0.5F;
      b.at(at, 0) = 0;
    } else {
      b.at(at, n - 1) = value;
      for (std::int64_t i = 0; i < m; ++i) a.at(i, at) = 0.5F;
      a.at(0, at) = 0;
    }
    const auto c = product(a.tensor(), b.tensor(), ta, tb).host_values<float>();
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const bool met = left ? i == m - 1 : j == n - 1;
        const float factor = left ? (j == 0 ? 0.0F : 0.5F) : (i == 0 ? 0.0F : 0.5F);
        const float rest = static_cast<float>(k - 1);
        const float want = rest + factor * (met ? value : 1.0F);
        const float got = c[static_cast<std::size_t>(i * n + j)];
        if (!same(got, want)) {
          CAPTURE(i, j, want, got);
          FAIL("another value");
        }
      }
    }
  }
}

TEST_CASE("matmul: infinities of both signs that meet give NaN", "[ops]") {
  const auto [m, n, k] = GENERATE(from_range(all_sizes()));
  Numbers a(m, k);
  a.at(0, 0) = kFloatInf;
  a.at(0, 1) = -kFloatInf;
  a.at(1, 0) = -kFloatInf;
  const Tensor c = ops::matmul(a.tensor(), Numbers(k, n).tensor());
  const auto first = ops::slice(c, 1, 0, 1).host_values<float>();
  CHECK(std::isnan(first[0]));
  CHECK(first[1] == -kFloatInf);
  CHECK(first[2] == static_cast<float>(k));
}

TEST_CASE("matmul: infinities in bfloat16", "[ops]") {
  const auto [m, n, k] = GENERATE(from_range(all_sizes()));
  Numbers a(m, k);
  a.at(0, k - 1) = -kFloatInf;
  const auto c = to_doubles(ops::matmul(ops::cast(a.tensor(), DType::kBFloat16),
                                        ops::cast(Numbers(k, n).tensor(), DType::kBFloat16)));
  for (std::int64_t j = 0; j < n; ++j)
    CHECK(c[static_cast<std::size_t>(j)] == -std::numeric_limits<double>::infinity());
  CHECK(std::isfinite(c[static_cast<std::size_t>(n)]));
}

TEST_CASE("matmul: small and large numbers keep their digits in the range that is stated",
          "[ops]") {
  const auto [m, n, k] = GENERATE(from_range(all_sizes()));
  // Of a and of b; on tile registers products below 1e-33 and operands below 2e-31 lose bits.
  const auto [left, right] = GENERATE(table<double, double>(
      {{1e-15, 1e-15}, {1e-18, 1e-18}, {1e-25, 1e20}, {1e-35, 1e30}, {1e18, 1e18}}));
  CAPTURE(m, n, k, left, right);
  const Tensor a = ops::mul(random_tensor({m, k}, 1, DType::kFloat32), left);
  const Tensor b = ops::mul(random_tensor({k, n}, 2, DType::kFloat32), right);
  const Tensor wide_a = ops::cast(a, DType::kFloat64);
  const Tensor wide_b = ops::cast(b, DType::kFloat64);
  const auto got = to_doubles(ops::matmul(a, b));
  const auto want = to_doubles(ops::matmul(wide_a, wide_b));
  const auto size = to_doubles(ops::matmul(ops::abs(wide_a), ops::abs(wide_b)));
  // Everything but tile registers loses what lies below the smallest normal number, at every step.
  const bool tiles = cpu().backend().description().find("amx") != std::string::npos;
  const double term =
      tiles ? std::ldexp(1.0, -123) + std::ldexp(4 * (left + right), -125) : std::ldexp(1.0, -126);
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double allowed = std::ldexp(size[i], -19) + static_cast<double>(k) * term;
    worst = std::max(worst, std::abs(got[i] - want[i]) / allowed);
  }
  CHECK(worst < 1);
}

TEST_CASE("linear: an empty inner axis gives the bias, no rows a gradient of zeros", "[ops]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kBFloat16);
  const auto empty = [&](const Shape& shape, DType type) {
    return trainable(ops::zeros(shape, type, cpu()));
  };
  // Memory that was in use holds other numbers than zeros.
  { const Tensor used = ops::full({64, 64}, 7, DType::kFloat32, cpu()); }
  const Tensor bias = Tensor::from<float>({1, 2, 3}, {3}, cpu());
  const Tensor y = ops::linear(empty({2, 0}, dtype), empty({3, 0}, DType::kFloat32), bias);
  CHECK(to_doubles(y) == std::vector<double>{1, 2, 3, 1, 2, 3});
  const Tensor z = ops::linear(empty({2, 0}, dtype), empty({3, 0}, DType::kFloat32));
  CHECK(to_doubles(z) == std::vector<double>(6, 0.0));
  const Tensor x = empty({0, 64}, dtype);
  const Tensor w = trainable(ops::full({64, 64}, 2, DType::kFloat32, cpu()));
  const Tensor none = ops::linear(x, w);
  autograd::backward(none, ops::zeros_like(none));
  CHECK(to_doubles(w.grad()) == std::vector<double>(64 * 64, 0.0));
}
