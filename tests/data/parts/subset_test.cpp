#include "data/parts/subset.h"

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

TEST_CASE("stratified_split: the draw itself does not change", "[data]") {
  // Drawn once and written down: experiments name their parts by seed.
  Ints labels;
  for (std::int64_t i = 0; i < 24; ++i) labels.push_back(i % 3);
  Ints all(24);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  CHECK(stratified_split(labels, all, 0.25, 7).val == Ints{1, 3, 7, 14, 15, 23});
  CHECK(random_split(all, 0.25, fovea::RandomStream(7).fork("test_split")).val ==
        Ints{2, 4, 5, 9, 13, 22});
}

TEST_CASE("folds: those of scikit-learn's KFold with nnU-Net's seed", "[data]") {
  // scikit-learn 1.9.1, numpy 2.4.6: KFold(k, shuffle=True, random_state=12345).split(range(n)).
  const std::vector<Ints> ten = {{0, 7}, {3, 9}, {4, 6}, {1, 8}, {2, 5}};
  const std::vector<Ints> twenty_three = {
      {3, 8, 10, 17, 19}, {0, 7, 12, 15, 16}, {6, 11, 14, 18, 20}, {9, 13, 21, 22}, {1, 2, 4, 5}};
  for (std::int64_t fold = 0; fold < 5; ++fold) {
    CHECK(held_out_of_fold(10, fold, 5) == ten[static_cast<std::size_t>(fold)]);
    CHECK(held_out_of_fold(23, fold, 5) == twenty_three[static_cast<std::size_t>(fold)]);
  }
  CHECK(held_out_of_fold(7, 0, 2) == Ints{0, 3, 4, 6});
  CHECK(held_out_of_fold(7, 1, 2) == Ints{1, 2, 5});
  CHECK(held_out_of_fold(2, 0, 2).size() == 1);

  // Large ones by their beginning and the sum of place times value.
  struct Large {
    std::int64_t n, fold, folds;
    Ints first;
    std::int64_t sum;
  };
  const std::vector<Large> large = {{1000, 0, 5, {0, 3, 4, 10, 17, 33, 41, 47}, 13337635},
                                    {1000, 4, 5, {5, 23, 29, 32, 34, 36, 43, 58}, 12782271},
                                    {70001, 0, 3, {1, 5, 8, 14, 18, 20, 30, 33}, 12736246056680},
                                    {70001, 1, 3, {0, 2, 6, 11, 12, 15, 22, 23}, 12703519657455},
                                    {70001, 2, 3, {3, 4, 7, 9, 10, 13, 16, 17}, 12673590206109}};
  for (const Large& one : large) {
    CAPTURE(one.n, one.fold);
    const Ints held = held_out_of_fold(one.n, one.fold, one.folds);
    CHECK(Ints(held.begin(), held.begin() + 8) == one.first);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < held.size(); ++k) sum += static_cast<std::int64_t>(k + 1) * held[k];
    CHECK(sum == one.sum);
  }
}

TEST_CASE("folds: stratified ones are those of scikit-learn's StratifiedKFold", "[data]") {
  // scikit-learn 1.9.1, numpy 2.4.6: StratifiedKFold(k, shuffle=True, random_state=seed). Classes
  // begin out of order, and one has fewer samples than there are folds.
  const Ints labels = {2, 0, 0, 1, 2, 2, 0, 1, 0, 2, 2, 0, 0};
  const std::vector<Ints> three = {{1, 3, 4, 5, 6}, {0, 2, 9, 12}, {7, 8, 10, 11}};
  for (std::int64_t fold = 0; fold < 3; ++fold)
    CHECK(held_out_of_stratified_fold(labels, fold, 3, 0) == three[static_cast<std::size_t>(fold)]);
  const std::vector<Ints> five = {{0, 1, 8}, {6, 7, 9}, {3, 5, 12}, {4, 11}, {2, 10}};
  for (std::int64_t fold = 0; fold < 5; ++fold)
    CHECK(held_out_of_stratified_fold(labels, fold, 5, 7) == five[static_cast<std::size_t>(fold)]);

  Ints many;
  for (std::int64_t i = 0; i < 1000; ++i) many.push_back((i * 7 + i / 5) % 4);
  const auto weighted = [](const Ints& held) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < held.size(); ++k) sum += static_cast<std::int64_t>(k + 1) * held[k];
    return sum;
  };
  CHECK(weighted(held_out_of_stratified_fold(many, 0, 10, 3)) == 3362399);
  CHECK(weighted(held_out_of_stratified_fold(many, 9, 10, 3)) == 3372447);
}
