#include "backend/cpu/attention/small_products.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

namespace fovea::cpu {
namespace {

using simd::Omitted;

// Numbers without a pattern that a product could hide.
std::vector<double> numbers(std::int64_t n, double seed) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < n; ++i) x.push_back(std::sin(seed + 1.7 * static_cast<double>(i)));
  return x;
}

// (rows, columns), with zeros above, or below, the diagonal.
std::vector<double> triangle(std::int64_t rows, std::int64_t columns, bool above) {
  std::vector<double> x = numbers(rows * columns, 0.5);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      if (above ? c > r : c < r) x[static_cast<std::size_t>(r * columns + c)] = 0;
    }
  }
  return x;
}

// Sizes around those of tiles, panels and stretches of the depth.
constexpr std::int64_t kSizes[] = {1, 11, 12, 16, 33, 64, 300};

}  // namespace

TEST_CASE("small products: terms that are left out are zeros", "[backend]") {
  for (const std::int64_t m : kSizes) {
    for (const std::int64_t k : kSizes) {
      const std::int64_t n = 37;
      const std::vector<double> b = numbers(k * n, 2);
      for (const bool above : {true, false}) {
        const std::vector<double> a = triangle(m, k, above);
        std::vector<double> all = numbers(m * n, 3), some = all;
        times({m, n, k}, a.data(), k, b.data(), all.data(), {.accumulate = true});
        times({m, n, k}, a.data(), k, b.data(), some.data(),
              {.accumulate = true, .omitted = above ? Omitted::kTermsAbove : Omitted::kTermsBelow});
        CHECK(some == all);
        const std::vector<double> at = triangle(k, m, !above);  // a is its transpose
        std::vector<double> transposed(all.size(), -1), expected(all.size(), -1);
        transposed_times({m, n, k}, at.data(), m, b.data(), expected.data());
        transposed_times({m, n, k}, at.data(), m, b.data(), transposed.data(),
                         {.omitted = above ? Omitted::kTermsAbove : Omitted::kTermsBelow});
        CHECK(transposed == expected);
      }
    }
  }
}

TEST_CASE("small products: results above the diagonal may be left out", "[backend]") {
  for (const std::int64_t m : kSizes) {
    for (const std::int64_t k : kSizes) {
      const std::vector<double> a = numbers(m * k, 1), b = numbers(m * k, 2);
      std::vector<double> all(static_cast<std::size_t>(m * m)), some(all);
      times_transposed({m, m, k}, a.data(), b.data(), all.data());
      times_transposed({m, m, k}, a.data(), b.data(), some.data(),
                       {.omitted = Omitted::kResultsAbove});
      std::int64_t wrong = 0;
      for (std::int64_t r = 0; r < m; ++r) {
        for (std::int64_t c = 0; c <= r; ++c) {
          const auto i = static_cast<std::size_t>(r * m + c);
          wrong += some[i] != all[i];
        }
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace fovea::cpu
