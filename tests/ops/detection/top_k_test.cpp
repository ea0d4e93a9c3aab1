#include "ops/detection/top_k.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tensor/random.h"

using namespace fovea;

namespace {

using Indices = std::vector<std::int64_t>;

Indices top(const std::vector<float>& scores, std::int64_t k) { return ops::top_k(scores, k); }

}  // namespace

TEST_CASE("top_k: the highest first, of equal scores the first", "[ops]") {
  CHECK(top({1, 3, 2, 3, 0}, 3) == Indices{1, 3, 2});
  CHECK(top({1, 3, 2, 3, 0}, 1) == Indices{1});
  CHECK(top({1, 3, 2, 3, 0}, 9) == Indices{1, 3, 2, 0, 4});
  CHECK(top({1, 3}, 0).empty());
  CHECK(top({}, 5).empty());
  CHECK(top({-0.0F, 0.0F, -1}, 2) == Indices{0, 1});
  // The k-th is one of several equal ones: those at the front.
  CHECK(top({5, 1, 5, 5, 1, 5}, 3) == Indices{0, 2, 3});
}

TEST_CASE("top_k: NaN is left out, infinities are scores", "[ops]") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(top({kNaN, 1, kNaN, 2}, 3) == Indices{3, 1});
  CHECK(top({kNaN, 1, kNaN, 2}, 1) == Indices{3});
  CHECK(top({kNaN, kNaN}, 2).empty());
  CHECK(top({-kInfinity, 0, kInfinity, kNaN}, 4) == Indices{2, 1, 0});
}

TEST_CASE("top_k: the start of a stable sort", "[ops]") {
  const RandomStream random(7);
  std::vector<float> scores;
  for (std::uint64_t i = 0; i < 2000; ++i)
    scores.push_back(static_cast<float>(random.below(50, i)));  // many equal ones
  Indices sorted(scores.size());
  std::iota(sorted.begin(), sorted.end(), std::int64_t{0});
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::int64_t a, std::int64_t b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });
  for (const std::int64_t k : {1, 39, 40, 41, 1000, 1999, 2000, 2001}) {
    const auto count = std::min<std::ptrdiff_t>(k, std::ssize(sorted));
    CHECK(top(scores, k) == Indices(sorted.begin(), sorted.begin() + count));
  }
}
