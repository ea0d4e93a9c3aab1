#include "backend/cpu/products/gemm_amx.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/simd/amx.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::cpu;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

bool packs(const simd::AmxPanel<float>& panel) {
  const std::int64_t steps = (panel.inner + simd::kPanel - 1) / simd::kPanel;
  const Tensor to = Tensor::empty({simd::amx_panel_size(steps, 3)}, DType::kBFloat16, test::cpu());
  return simd::amx()->f32.pack(true, panel, steps, to.data<BFloat16>());
}

}  // namespace

TEST_CASE("amx pack: refuses one number that cannot be taken apart, at any place", "[backend]") {
  if (simd::amx() == nullptr) return;  // nothing to pack for
  const std::int64_t outer = GENERATE(1, 7, 16, 18, 32);
  const std::int64_t inner = GENERATE(1, 3, 16, 33, 64);
  const bool inner_contiguous = GENERATE(true, false);
  const std::int64_t rows = inner_contiguous ? outer : inner;
  const std::int64_t n = inner_contiguous ? inner : outer;
  const std::int64_t ld = n + 3;
  // What lies between the rows does not count.
  std::vector<float> x(static_cast<std::size_t>(rows * ld), kInf);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < n; ++i)
      x[static_cast<std::size_t>(r * ld + i)] = static_cast<float>(i - 4) * 1e30F;
  }
  const simd::AmxPanel<float> panel{.x = x.data(),
                                    .ld = ld,
                                    .inner_contiguous = inner_contiguous,
                                    .outer = outer,
                                    .inner = inner};
  CHECK(packs(panel));
  for (const float value : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(), simd::kAmxLimit, -simd::kAmxLimit}) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < n; ++i) {
        float& place = x[static_cast<std::size_t>(r * ld + i)];
        const float before = place;
        place = value;
        CAPTURE(outer, inner, inner_contiguous, r, i, value);
        REQUIRE_FALSE(packs(panel));
        place = before;
      }
    }
  }
}

TEST_CASE("amx pack: takes what rounds to a finite bfloat16 number", "[backend]") {
  if (simd::amx() == nullptr) return;
  for (const float value :
       {0.0F, -0.0F, 1e-45F, 1e-38F, 1.0F, -3.3e38F, std::nextafterf(simd::kAmxLimit, 0.0F)}) {
    CAPTURE(value);
    CHECK(packs({.x = &value, .ld = 1, .inner_contiguous = true, .outer = 1, .inner = 1}));
    CHECK(static_cast<float>(BFloat16(value)) < kInf);
  }
  CHECK(static_cast<float>(BFloat16(simd::kAmxLimit)) == kInf);
}

TEST_CASE("amx product: is that of operands rounded to bfloat16", "[backend]") {
  if (simd::amx() == nullptr) return;
  const auto [m, n, k] = GENERATE(table<int, int, int>({{1, 1, 1},
                                                        {32, 32, 32},
                                                        {32, 64, 96},
                                                        {17, 49, 33},
                                                        {130, 40, 20},
                                                        {49, 48, 300},
                                                        {5, 16, 0}}));
  const bool a_transposed = GENERATE(false, true);
  const bool b_transposed = GENERATE(false, true);
  const bool accumulate = GENERATE(false, true);
  const auto value = [](int i) { return static_cast<float>((i * 37) % 101 - 50) / 7.0F; };
  const auto size = [](int i) { return static_cast<std::size_t>(i); };
  const int ldc = n + 5;
  std::vector<float> a(size(m * k + 1)), b(size(k * n + 1)), c(size(m * ldc), 2.0F);
  for (int i = 0; i < m * k; ++i) a[size(i)] = value(i);
  for (int i = 0; i < k * n; ++i) b[size(i)] = value(i + 11);
  // Half the operand's numbers are not bfloat16's; halving them is exact, so the scale may be
  // applied before they are rounded.
  simd::amx()->product({.m = m,
                        .n = n,
                        .k = k,
                        .alpha = 0.5F,
                        .a = a.data(),
                        .a_row = a_transposed ? 1 : k,
                        .a_column = a_transposed ? m : 1,
                        .b = b.data(),
                        .b_row = b_transposed ? 1 : n,
                        .b_column = b_transposed ? k : 1,
                        .c = c.data(),
                        .ldc = ldc,
                        .accumulate = accumulate});
  // Ties away from zero, as the kernel rounds.
  const auto rounded = [](float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x) + 0x8000U;
    return static_cast<double>(std::bit_cast<float>(bits & 0xffff0000U));
  };
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < ldc; ++j) {
      CAPTURE(m, n, k, a_transposed, b_transposed, accumulate, i, j);
      double expected = accumulate || j >= n ? 2 : 0;
      for (int s = 0; s < k && j < n; ++s) {
        expected += rounded(0.5F * a[size(a_transposed ? s * m + i : i * k + s)]) *
                    rounded(b[size(b_transposed ? j * k + s : s * n + j)]);
      }
      REQUIRE(static_cast<double>(c[size(i * ldc + j)]) ==
              Approx(expected).margin(1e-5 * (1 + 60 * k)).epsilon(0));
    }
  }
}
