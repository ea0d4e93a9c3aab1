// What ranks tell each other, with threads in place of processes.
#include "parallel/ranks.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <vector>

#include "tests/parallel/threads.h"

using namespace fovea;
using parallel::Ranks;

TEST_CASE("ranks: one process alone needs nobody", "[parallel]") {
  Ranks alone;
  CHECK(alone.rank() == 0);
  CHECK(alone.size() == 1);
  CHECK(alone.gather("own") == std::vector<std::string>{"own"});
  CHECK(alone.from_first("own") == "own");
  CHECK(alone.any(true));
  CHECK_FALSE(alone.any(false));
  alone.meet();
  alone.leave();
}

TEST_CASE("ranks: all get what each gives, in the order of ranks", "[parallel]") {
  const int size = GENERATE(2, 3, 5);
  std::atomic<int> right = 0;
  test::run_ranks(size, [&](Ranks& ranks) {
    std::vector<std::string> expected;
    for (int r = 0; r < size; ++r) expected.emplace_back(static_cast<std::size_t>(r), 'x');
    bool good = true;
    for (int round = 0; round < 20; ++round) {  // no message is taken for that of another round
      const auto own = std::string(static_cast<std::size_t>(ranks.rank()), 'x');
      good = good && ranks.gather(own) == expected;
      good = good && ranks.from_first(ranks.first() ? std::to_string(round) : "no") ==
                         std::to_string(round);
      good = good && ranks.any(ranks.rank() == round % size);
      good = good && !ranks.any(false);
      ranks.meet();
    }
    if (good) ++right;
  });
  CHECK(right == size);
}

TEST_CASE("ranks: one that does not answer is named when the limit is over", "[parallel]") {
  std::atomic<int> named = 0;
  test::run_ranks(3, [&](Ranks& ranks) {
    ranks.set_limit(parallel::Seconds(0.2));
    if (ranks.rank() == 1) return;
    try {
      ranks.meet();
    } catch (const parallel::RankError& error) {
      const bool right =
          ranks.missing() == std::vector<int>{1} &&
          std::string(error.what())
              .starts_with("rank 1 of 3 did not answer within 0.2 s (train.rank_timeout)");
      if (right) ++named;
    }
  });
  CHECK(named == 2);
  CHECK(parallel::speaks(0, {1}));
  CHECK_FALSE(parallel::speaks(2, {1}));
  CHECK(parallel::speaks(1, {0}));
  CHECK_FALSE(parallel::speaks(2, {0}));
}
