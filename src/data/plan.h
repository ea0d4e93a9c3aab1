// Which samples make each batch of an epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace fovea::data {

struct PlanOptions {
  std::int64_t batch_size = 1;
  bool shuffle = false;
  std::uint64_t seed = 0;
};

/// The batches of an epoch, a function of seed and epoch.
/// Shuffled: a permutation; with Dataset::bucket_batches() sorted by length within so many batches,
/// which then are shuffled, so that their length says nothing about their place in the epoch.
/// Otherwise the longest samples come first, equally long ones in the order of the data set.
std::vector<std::vector<std::int64_t>> plan_batches(const Dataset& dataset,
                                                    const PlanOptions& options, std::int64_t epoch);

}  // namespace fovea::data
