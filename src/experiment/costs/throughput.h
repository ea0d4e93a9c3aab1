// How many samples a network sees in a second on this machine. mala section 8.
#pragma once

#include <cstdint>
#include <string>

#include "experiment/file/experiment.h"

namespace fovea::experiment {

struct ThroughputSettings {
  std::int64_t batch_size = 64;
  std::int64_t warm_up = 50;  // forward passes before
  std::int64_t passes = 30;   // that are timed
  int threads = 0;            // 0: all cores
};

struct Throughput {
  double samples_per_s = 0;  // batch_size over the median time of a pass
  std::string measured_on;   // device, threads, batch, size and precision, for tables
};

/// Forward passes in evaluation mode on random inputs of the data's size, or of cost_img_size where
/// the experiment gives it, on the experiment's device, with initial weights: time does not depend
/// on them.
Throughput measure_throughput(const Experiment& experiment, const ThroughputSettings& settings);

}  // namespace fovea::experiment
