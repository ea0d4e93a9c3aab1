// Which samples are shown where none are asked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea::visualise {

struct ShownSamples {
  std::vector<std::int64_t> samples;
  std::int64_t classes = 0;  // that have a sample
};

/// The first sample of each class, in the order of the classes; of more than `most` classes those
/// of `most` of them, spread evenly.
ShownSamples one_of_each_class(std::span<const std::int64_t> labels, std::int64_t most = 10);

}  // namespace fovea::visualise
