#include "data/subset.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

using namespace fovea::data;
using Ints = std::vector<std::int64_t>;

TEST_CASE("balanced_subset: the first of every class in turn, in file order", "[data]") {
  const Ints labels = {0, 0, 0, 1, 2, 1, 1, 0};
  const Ints all = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(balanced_subset(labels, all, 3) == Ints{0, 3, 4});
  CHECK(balanced_subset(labels, all, 4) == Ints{0, 1, 3, 4});
  CHECK(balanced_subset(labels, all, 6) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(balanced_subset(labels, all, 8) == all);
  CHECK(balanced_subset(labels, all, 99) == all);
  CHECK(balanced_subset(labels, all, 0).empty());
  CHECK(balanced_subset(labels, {1, 2, 5, 7}, 2) == Ints{1, 5});
}

TEST_CASE("balanced_subset: smaller limits choose subsets of larger ones", "[data]") {
  Ints labels(100);
  for (std::size_t i = 0; i < 100; ++i) labels[i] = static_cast<std::int64_t>(i * i % 7);
  Ints all(100);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  Ints last;
  for (std::int64_t count = 1; count <= 100; ++count) {
    const Ints now = balanced_subset(labels, all, count);
    CHECK(static_cast<std::int64_t>(now.size()) == count);
    CHECK(std::includes(now.begin(), now.end(), last.begin(), last.end()));
    last = now;
  }
}

TEST_CASE("stratified_split: shares of every class, no overlap, fixed by the seed", "[data]") {
  Ints labels;
  for (int i = 0; i < 100; ++i) labels.push_back(i < 70 ? 0 : 1);
  Ints all(100);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const SplitIndices split = stratified_split(labels, all, 0.2, 0);
  const auto of_class = [&](const Ints& indices, std::int64_t label) {
    return std::count_if(indices.begin(), indices.end(), [&](std::int64_t i) {
      return labels[static_cast<std::size_t>(i)] == label;
    });
  };
  CHECK(of_class(split.train, 0) == 56);
  CHECK(of_class(split.val, 0) == 14);
  CHECK(of_class(split.train, 1) == 24);
  CHECK(of_class(split.val, 1) == 6);
  Ints joined;
  std::set_union(split.train.begin(), split.train.end(), split.val.begin(), split.val.end(),
                 std::back_inserter(joined));
  CHECK(joined == all);
  CHECK(stratified_split(labels, all, 0.2, 0).val == split.val);
  CHECK(stratified_split(labels, all, 0.2, 1).val != split.val);
}
