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

// numpy.random.RandomState(seed).shuffle of 0..n-1. Its generator is std::mt19937 with the same
// seeding; an integer up to `last` is drawn by masking and rejecting (random_interval of numpy's
// legacy distributions).
std::vector<std::int64_t> numpy_shuffled(std::int64_t n, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (auto last = static_cast<std::uint32_t>(std::max<std::int64_t>(n, 1) - 1); last > 0; --last) {
    const auto mask = static_cast<std::uint32_t>(std::bit_ceil(std::uint64_t{last} + 1) - 1);
    std::uint32_t drawn = 0;
    do {
      drawn = static_cast<std::uint32_t>(generator()) & mask;
    } while (drawn > last);
    std::swap(order[last], order[drawn]);
  }
  return order;
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
  const std::vector<std::int64_t> order = numpy_shuffled(n, 12345);
  // The first n % folds folds have one case more.
  const auto begin_of = [&](std::int64_t f) { return f * (n / folds) + std::min(f, n % folds); };
  std::vector<std::int64_t> held(order.begin() + begin_of(fold),
                                 order.begin() + begin_of(fold + 1));
  std::sort(held.begin(), held.end());
  return held;
}

}  // namespace fovea::data
