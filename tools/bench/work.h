// What is timed: one step of a model, or of its attention or feed-forward network alone.
#pragma once

#include <functional>

#include "bench/bench.h"

namespace fovea::bench {

struct Work {
  std::function<Tensor()> step;  // returns what loss() is computed from
  std::function<Tensor(const Tensor&)> loss;
  std::int64_t batch_size = 0;
};

/// Builds the module and its inputs, with the weights and tensors of the files that `settings`
/// names. Throws FileError if a file does not fit.
Work make_work(const experiment::Experiment& experiment, const Device& device,
               const Settings& settings);

}  // namespace fovea::bench
