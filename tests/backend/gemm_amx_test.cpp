#include "backend/cpu/gemm_amx.h"

#include <catch2/catch.hpp>

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
