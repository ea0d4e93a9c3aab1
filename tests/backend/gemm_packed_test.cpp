// Products by our own register tiles, through the kernel gemm of a batch-invariant device.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/devices.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

struct Case {
  std::int64_t m, n, k;
  bool trans_a = false, trans_b = false;
};

// Sizes below and above those of tiles, blocks of rows, panels and stretches of the inner axis, and
// of what is cut among threads.
constexpr Case kCases[] = {{1, 1, 1},
                           {5, 7, 3, false, true},
                           {23, 40, 300, true, true},
                           {65, 130, 257, false, true},
                           {64, 192, 512, true},
                           {100, 33, 100, false, true},
                           {253, 70, 65},
                           {100, 130, 300, true},
                           {266, 530, 40, false, true},
                           {504, 64, 260, false, true},
                           {505, 33, 70, true, true},
                           {1030, 17, 31},
                           {33, 40, 4500, true}};

// Numbers of a matrix whose rows are `ld` apart, in the device's memory.
Tensor matrix(const Device& device, std::int64_t rows, std::int64_t ld, std::uint64_t seed,
              DType dtype) {
  const Tensor values = random_tensor({rows, ld}, seed);
  const Tensor x = Tensor::empty({rows, ld}, dtype, device);
  backend(x).cast(values, x);
  return x;
}

struct Operands {
  GemmArgs args;
  Tensor a, b, bias;
};

Operands operands(const Device& device, const Case& c, DType dtype) {
  const std::int64_t lda = (c.trans_a ? c.m : c.k) + 3;
  const std::int64_t ldb = (c.trans_b ? c.k : c.n) + 5;
  return {{.trans_a = c.trans_a,
           .trans_b = c.trans_b,
           .m = c.m,
           .n = c.n,
           .k = c.k,
           .lda = lda,
           .ldb = ldb,
           .ldc = c.n + 2},
          matrix(device, c.trans_a ? c.k : c.m, lda, 1, dtype),
          matrix(device, c.trans_b ? c.n : c.k, ldb, 2, dtype),
          matrix(device, 1, c.n, 3, compute_dtype(dtype))};
}

// c, with 7 in what lies between its rows.
Tensor product(const Operands& of, DType result, bool has_bias) {
  const Tensor c = Tensor::empty({of.args.m, of.args.ldc}, result, of.a.device());
  backend(c).fill(c, 7);
  backend(c).gemm(of.args, of.a, of.b, has_bias ? of.bias : Tensor(), c);
  return c;
}

}  // namespace

TEST_CASE("packed products: against float64, without touching what lies between rows",
          "[backend][host]") {
  const Device device = make_cpu(2, true);
  const auto [dtype, result] =
      GENERATE(table<DType, DType>({{DType::kFloat32, DType::kFloat32},
                                    {DType::kFloat64, DType::kFloat64},
                                    {DType::kBFloat16, DType::kFloat32},
                                    {DType::kBFloat16, DType::kBFloat16}}));
  const double unit = result == DType::kBFloat16  ? 0x1p-8
                      : result == DType::kFloat32 ? 0x1p-23
                                                  : 0x1p-52;
  for (const Case& c : kCases) {
    for (const bool has_bias : {false, true}) {
      CAPTURE(c.m, c.n, c.k, c.trans_a, c.trans_b, has_bias, name_of(dtype));
      const Operands of = operands(device, c, dtype);
      const std::vector<double> a = to_doubles(of.a), b = to_doubles(of.b);
      const std::vector<double> bias = to_doubles(of.bias);
      const std::vector<double> found = to_doubles(product(of, result, has_bias));
      double worst = 0;  // error in units of the sum of absolute terms
      bool apart = true;
      for (std::int64_t i = 0; i < c.m; ++i) {
        for (std::int64_t j = 0; j < of.args.ldc; ++j) {
          const double value = found[static_cast<std::size_t>(i * of.args.ldc + j)];
          if (j >= c.n) {
            apart = apart && value == 7;
            continue;
          }
          double sum = has_bias ? bias[static_cast<std::size_t>(j)] : 0;
          double size = std::abs(sum);
          for (std::int64_t x = 0; x < c.k; ++x) {
            const double term =
                a[static_cast<std::size_t>(c.trans_a ? x * of.args.lda + i : i * of.args.lda + x)] *
                b[static_cast<std::size_t>(c.trans_b ? j * of.args.ldb + x : x * of.args.ldb + j)];
            sum += term;
            size += std::abs(term);
          }
          worst = std::max(worst, std::abs(value - sum) / (unit * size));
        }
      }
      CHECK(apart);
      CHECK(worst < (c.k < 300 ? 4 : 8));
    }
  }
}

TEST_CASE("packed products: an element has the same bits in any product", "[backend][host]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64, DType::kBFloat16);
  for (const Case& c : kCases) {
    CAPTURE(c.m, c.n, c.k, c.trans_a, c.trans_b, name_of(dtype));
    // (Weight gradients are sums over the batch.)
    if (c.trans_a && !c.trans_b) continue;
    const Operands of = operands(make_cpu(2, true), c, dtype);
    const std::vector<double> whole = to_doubles(product(of, compute_dtype(dtype), true));
    const Operands alone = operands(make_cpu(1, true), c, dtype);
    CHECK(to_doubles(product(alone, compute_dtype(dtype), true)) == whole);
    // Some of its rows.
    for (const std::int64_t rows : {std::int64_t{1}, c.m / 2 + 1, c.m}) {
      Operands part = of;
      part.args.m = rows;
      const std::vector<double> some = to_doubles(product(part, compute_dtype(dtype), true));
      CHECK(std::equal(some.begin(), some.end(), whole.begin()));
    }
    // Some of its columns.
    for (const std::int64_t columns : {std::int64_t{1}, c.n / 2 + 1}) {
      Operands part = of;
      part.args.n = columns;
      const std::vector<double> some = to_doubles(product(part, compute_dtype(dtype), true));
      bool same = true;
      for (std::int64_t i = 0; i < c.m; ++i) {
        const auto row = whole.begin() + i * of.args.ldc;
        same = same && std::equal(row, row + columns, some.begin() + i * of.args.ldc);
      }
      CHECK(same);
    }
  }
}

TEST_CASE("packed products: without terms they are the bias", "[backend][host]") {
  const Device device = make_cpu(2, true);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Operands of = operands(device, {600, 5, 1}, dtype);
    of.args.k = 0;
    const std::vector<double> found = to_doubles(product(of, dtype, true));
    const std::vector<double> bias = to_doubles(of.bias);
    const double unit = dtype == DType::kBFloat16 ? 0x1p-8 : 0;
    for (std::size_t j = 0; j < 5; ++j)
      CHECK(std::abs(found[599 * 7 + j] - bias[j]) <= unit * std::abs(bias[j]));
    CHECK(to_doubles(product(of, dtype, false))[0] == 0);
  }
}

TEST_CASE("packed products: a number that is not finite spoils its row and column alone",
          "[backend][host]") {
  const Device device = make_cpu(2, true);
  const Operands of = operands(device, {600, 64, 300, false, true}, DType::kFloat32);
  edit<float>(of.a, [&](auto values) {
    values[static_cast<std::size_t>(17 * of.args.lda + 290)] =
        std::numeric_limits<float>::quiet_NaN();
  });
  const std::vector<double> found = to_doubles(product(of, DType::kFloat32, false));
  bool right = true;
  for (std::int64_t i = 0; i < 600; ++i) {
    for (std::int64_t j = 0; j < 64; ++j)
      right = right && std::isnan(found[static_cast<std::size_t>(i * 66 + j)]) == (i == 17);
  }
  CHECK(right);
}

TEST_CASE("packed products: sums for a bias beside the gradient of a weight", "[backend][host]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64, DType::kBFloat16);
  const DType wide = compute_dtype(dtype);
  // Rows that stay and that pass by, several blocks of columns, parts of the inner axis.
  for (const auto& [rows, in, out] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {7, 3, 5}, {300, 40, 23}, {515, 530, 70}, {70, 40, 505}, {8200, 300, 260}}) {
    CAPTURE(rows, in, out, name_of(dtype));
    const auto gradients = [&, rows = rows, in = in, out = out](int threads) {
      const Device device = make_cpu(threads, true);
      const Tensor x = matrix(device, rows, in, 1, dtype);
      const Tensor dy = matrix(device, rows, out, 2, dtype);
      const Tensor dweight = Tensor::empty({out, in}, wide, device);
      const Tensor dbias = Tensor::empty({out}, wide, device);
      backend(x).linear_backward_weight(x, dy, dweight, dbias);
      const Tensor alone = Tensor::empty({out, in}, wide, device);
      backend(x).linear_backward_weight(x, dy, alone, {});
      CHECK(to_doubles(dweight) == to_doubles(alone));
      return std::pair{to_doubles(dy), to_doubles(dbias)};
    };
    const auto [dy, dbias] = gradients(2);
    CHECK(gradients(1).second == dbias);
    double worst = 0;
    for (std::int64_t j = 0; j < out; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const double term = dy[static_cast<std::size_t>(i * out + j)];
        sum += term;
        size += std::abs(term);
      }
      worst = std::max(worst, std::abs(dbias[static_cast<std::size_t>(j)] - sum) / size);
    }
    CHECK(worst < (wide == DType::kFloat64 ? 0x1p-51 : 0x1p-22));
  }
}
