#include "data/subset.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tensor/random.h"

namespace fovea::data {
namespace {

std::map<std::int64_t, std::vector<std::int64_t>> by_class(
    const std::vector<std::int64_t>& labels, const std::vector<std::int64_t>& indices) {
  std::map<std::int64_t, std::vector<std::int64_t>> groups;
  for (const std::int64_t i : indices) groups[labels[static_cast<std::size_t>(i)]].push_back(i);
  return groups;
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

SplitIndices stratified_split(const std::vector<std::int64_t>& labels,
                              const std::vector<std::int64_t>& indices, double fraction,
                              std::uint64_t seed) {
  SplitIndices result;
  const RandomStream stream = RandomStream(seed).fork("val_split");
  for (const auto& [label, members] : by_class(labels, indices)) {
    const auto n = static_cast<std::int64_t>(members.size());
    const auto order = stream.fork(static_cast<std::uint64_t>(label)).permutation(n);
    const auto keep =
        static_cast<std::int64_t>(std::floor((1.0 - fraction) * static_cast<double>(n) + 0.5));
    for (std::int64_t k = 0; k < n; ++k) {
      const auto member = static_cast<std::size_t>(order[static_cast<std::size_t>(k)]);
      (k < keep ? result.train : result.val).push_back(members[member]);
    }
  }
  std::sort(result.train.begin(), result.train.end());
  std::sort(result.val.begin(), result.val.end());
  return result;
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

}  // namespace fovea::data
