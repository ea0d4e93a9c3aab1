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
  /// Shuffled: every sample comes this many times in a row, each time augmented differently, and an
  /// epoch ends after as many samples as the data set has (Hoffer et al., "Augment your batch",
  /// CVPR 2020, as timm's RepeatAugSampler cuts it: from 256 samples on at a whole multiple of
  /// 256). So it sees about one in `repeats` of them. mala 7.1.
  std::int64_t repeats = 1;
  /// Shuffled: as many samples as the data set has are drawn with replacement, each class as often
  /// as any other: PyTorch's WeightedRandomSampler with weights 1 / (samples of the class).
  bool balanced = false;
};

/// A sample in its place in an epoch.
struct PlannedSample {
  std::int64_t index = 0;
  std::int64_t copy = 0;  // which of its repeats, or of its draws
  bool operator==(const PlannedSample&) const = default;
};
using PlannedBatches = std::vector<std::vector<PlannedSample>>;

/// The batches of an epoch, a function of seed and epoch.
/// Shuffled: a permutation, or Dataset::draws_per_epoch() with replacement, or balanced draws; with
/// Dataset::bucket_batches() sorted by length within so many batches, which then are shuffled, so
/// that their length says nothing about their place in the epoch.
/// Otherwise the longest samples come first, equally long ones in the order of the data set.
PlannedBatches plan_batches(const Dataset& dataset, const PlanOptions& options, std::int64_t epoch);
/// How many samples an epoch has, from how many samples.
std::int64_t planned_samples(std::int64_t size, const PlanOptions& options);
std::int64_t planned_samples(const Dataset& dataset, const PlanOptions& options);

}  // namespace fovea::data
