// Choosing samples: class-balanced limits and stratified validation parts. Pure functions of the
// labels, so that the same samples are chosen on every machine and in every run.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea::data {

/// The first `count` of a round over the classes (class 0's first sample, class 1's first, ...,
/// class 0's second, ...), each class in the order of `indices`; all of them if there are no more.
/// A smaller count chooses a subset of what a larger one does. indices: positions in `labels`,
/// ascending. Returned ascending. count >= 0.
std::vector<std::int64_t> balanced_subset(const std::vector<std::int64_t>& labels,
                                          const std::vector<std::int64_t>& indices,
                                          std::int64_t count);

struct SplitIndices {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> val;
};

/// For each class in ascending order: its indices are shuffled by `seed`, the first
/// floor((1 - fraction) n + 0.5) stay in train, the rest are val (dgsa section 7). Both ascending.
SplitIndices stratified_split(const std::vector<std::int64_t>& labels,
                              const std::vector<std::int64_t>& indices, double fraction,
                              std::uint64_t seed);

/// Every `every`-th sample of each class is val: those with places every - 1, 2 every - 1, ... in
/// the order of `indices`.
SplitIndices regular_split(const std::vector<std::int64_t>& labels,
                           const std::vector<std::int64_t>& indices, std::int64_t every);

}  // namespace fovea::data
