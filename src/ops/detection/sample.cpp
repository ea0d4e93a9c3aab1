#include "ops/detection/sample.h"

#include <algorithm>
#include <utility>

namespace fovea::ops {
namespace {

// The first steps of a Fisher-Yates shuffle.
std::vector<std::int64_t> some_of(std::vector<std::int64_t> all, std::int64_t count,
                                  const RandomStream& random) {
  const auto size = std::ssize(all);
  if (count >= size) return all;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t other = i + random.below(size - i, static_cast<std::uint64_t>(i));
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(other)]);
  }
  all.resize(static_cast<std::size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

Sampled sample_boxes(const std::vector<std::int64_t>& assigned, std::int64_t count,
                     double positive_share, const RandomStream& random) {
  Sampled sampled;
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    if (assigned[i] > 0) sampled.positive.push_back(static_cast<std::int64_t>(i));
    if (assigned[i] == 0) sampled.negative.push_back(static_cast<std::int64_t>(i));
  }
  const auto most = static_cast<std::int64_t>(static_cast<double>(count) * positive_share);
  sampled.positive = some_of(std::move(sampled.positive), most, random.fork("positive"));
  const std::int64_t rest = count - std::ssize(sampled.positive);
  sampled.negative = some_of(std::move(sampled.negative), rest, random.fork("negative"));
  return sampled;
}

}  // namespace fovea::ops
