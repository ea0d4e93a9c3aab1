#include "backend/cpu/gemm_amx.h"

#include <catch2/catch.hpp>

#include <limits>
#include <vector>

#include "backend/cpu/simd/amx.h"

using namespace fovea;
using namespace fovea::cpu;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("amx_takes: refuses one number that cannot be taken apart, at any place", "[backend]") {
  const std::int64_t rows = GENERATE(1, 2, 7);
  const std::int64_t n = GENERATE(1, 3, 8, 16, 33, 40);
  const std::int64_t ld = n + 3;
  // What lies between the rows does not count.
  std::vector<float> x(static_cast<std::size_t>(rows * ld), kInf);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < n; ++i)
      x[static_cast<std::size_t>(r * ld + i)] = static_cast<float>(i - 4) * 1e30F;
  }
  CHECK(amx_takes(x.data(), ld, rows, n));
  for (const float value : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(), simd::kAmxLimit, -simd::kAmxLimit}) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < n; ++i) {
        float& place = x[static_cast<std::size_t>(r * ld + i)];
        const float before = place;
        place = value;
        CAPTURE(rows, n, r, i, value);
        REQUIRE_FALSE(amx_takes(x.data(), ld, rows, n));
        place = before;
      }
    }
  }
}

TEST_CASE("amx_takes: takes what rounds to a finite bfloat16 number", "[backend]") {
  for (const float value :
       {0.0F, -0.0F, 1e-45F, 1e-38F, 1.0F, -3.3e38F, std::nextafterf(simd::kAmxLimit, 0.0F)}) {
    CAPTURE(value);
    CHECK(amx_takes(&value, 1, 1, 1));
    CHECK(static_cast<float>(BFloat16(value)) < kInf);
  }
  CHECK(static_cast<float>(BFloat16(simd::kAmxLimit)) == kInf);
}
