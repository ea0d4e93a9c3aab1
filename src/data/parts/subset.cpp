#include "data/parts/subset.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace fovea::data {
namespace {

std::map<std::int64_t, std::vector<std::int64_t>> by_class(
    const std::vector<std::int64_t>& labels, const std::vector<std::int64_t>& indices) {
  std::map<std::int64_t, std::vector<std::int64_t>> groups;
  for (const std::int64_t i : indices) groups[labels[static_cast<std::size_t>(i)]].push_back(i);
  return groups;
}

// Adds the shuffled members to one side or the other.
void hold_out(const std::vector<std::int64_t>& members, double fraction, const RandomStream& stream,
              SplitIndices& result) {
  const auto n = static_cast<std::int64_t>(members.size());
  const auto order = stream.permutation(n);
  const auto keep =
      static_cast<std::int64_t>(std::floor((1.0 - fraction) * static_cast<double>(n) + 0.5));
  for (std::int64_t k = 0; k < n; ++k) {
    const auto member = static_cast<std::size_t>(order[static_cast<std::size_t>(k)]);
    (k < keep ? result.train : result.val).push_back(members[member]);
  }
}

void sort(SplitIndices& split) {
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.val.begin(), split.val.end());
}

// numpy.random.RandomState.shuffle. Its generator is std::mt19937 with the same seeding; an integer
// up to `last` is drawn by masking and rejecting (random_interval of numpy's legacy distributions).
void numpy_shuffle(std::vector<std::int64_t>& values, std::mt19937& generator) {
  const auto n = std::max<std::size_t>(values.size(), 1);
  for (auto last = static_cast<std::uint32_t>(n - 1); last > 0; --last) {
    const auto mask = static_cast<std::uint32_t>(std::bit_ceil(std::uint64_t{last} + 1) - 1);
    std::uint32_t drawn = 0;
    do {
      drawn = static_cast<std::uint32_t>(generator()) & mask;
    } while (drawn > last);
    std::swap(values[last], values[drawn]);
  }
}

}  // namespace

std::vector<std::int64_t> balanced_subset(const std::vector<std::int64_t>& labels,
                                          const std::vector<std::int64_t>& indices,
                                          std::int64_t count) {
  if (count >= static_cast<std::int64_t>(indices.size())) return indices;
  const auto groups = by_class(labels, indices);
  std::vector<std::int64_t> chosen;
  for (std::size_t round = 0; static_cast<std::int64_t>(chosen.size()) < count; ++round) {
    for (const auto& [label, members] : groups) {
      if (round < members.size() && static_cast<std::int64_t>(chosen.size()) < count) {
        chosen.push_back(members[round]);
      }
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

SplitIndices random_split(const std::vector<std::int64_t>& indices, double fraction,
                          const RandomStream& stream) {
  SplitIndices result;
  hold_out(indices, fraction, stream, result);
  sort(result);
  return result;
}

SplitIndices stratified_split(const std::vector<std::int64_t>& labels,
                              const std::vector<std::int64_t>& indices, double fraction,
                              const RandomStream& stream) {
  SplitIndices result;
  for (const auto& [label, members] : by_class(labels, indices))
    hold_out(members, fraction, stream.fork(static_cast<std::uint64_t>(label)), result);
  sort(result);
  return result;
}

SplitIndices stratified_split(const std::vector<std::int64_t>& labels,
                              const std::vector<std::int64_t>& indices, double fraction,
                              std::uint64_t seed) {
  return stratified_split(labels, indices, fraction, RandomStream(seed).fork("val_split"));
}

SplitIndices regular_split(const std::vector<std::int64_t>& labels,
                           const std::vector<std::int64_t>& indices, std::int64_t every) {
  SplitIndices result;
  std::map<std::int64_t, std::int64_t> seen;
  for (const std::int64_t i : indices) {
    const bool val = seen[labels[static_cast<std::size_t>(i)]]++ % every == every - 1;
    (val ? result.val : result.train).push_back(i);
  }
  return result;
}

std::vector<std::int64_t> held_out_of_fold(std::int64_t n, std::int64_t fold, std::int64_t folds) {
  std::mt19937 generator(12345);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  numpy_shuffle(order, generator);
  // The first n % folds folds have one case more.
  const auto begin_of = [&](std::int64_t f) { return f * (n / folds) + std::min(f, n % folds); };
  std::vector<std::int64_t> held(order.begin() + begin_of(fold),
                                 order.begin() + begin_of(fold + 1));
  std::sort(held.begin(), held.end());
  return held;
}

std::vector<std::int64_t> held_out_of_stratified_fold(const std::vector<std::int64_t>& labels,
                                                      std::int64_t fold, std::int64_t folds,
                                                      std::uint32_t seed) {
  // Classes in the order of their first samples.
  std::vector<std::vector<std::int64_t>> classes;
  std::map<std::int64_t, std::size_t> number_of;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto [known, is_new] = number_of.emplace(labels[i], classes.size());
    if (is_new) classes.emplace_back();
    classes[known->second].push_back(static_cast<std::int64_t>(i));
  }
  std::mt19937 generator(seed);
  std::vector<std::int64_t> held;
  std::int64_t begin = 0;  // of the class, where samples are sorted by class
  for (const std::vector<std::int64_t>& members : classes) {
    // A class gives a fold as many samples as it has among every folds-th of the sorted ones, from
    // the fold's number on: so the sizes of folds differ by one at most.
    const std::int64_t end = begin + std::ssize(members);
    std::vector<std::int64_t> fold_of;  // of the members
    for (std::int64_t f = 0; f < folds; ++f) {
      const auto taken_before = [&](std::int64_t place) { return (place + folds - 1 - f) / folds; };
      fold_of.insert(fold_of.end(),
                     static_cast<std::size_t>(taken_before(end) - taken_before(begin)), f);
    }
    numpy_shuffle(fold_of, generator);
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (fold_of[k] == fold) held.push_back(members[k]);
    }
    begin = end;
  }
  std::sort(held.begin(), held.end());
  return held;
}

}  // namespace fovea::data
