// One training step of an experiment on random inputs, to be timed and weighed.
#pragma once

#include <functional>
#include <memory>

#include "experiment/experiment.h"
#include "optim/optimiser.h"

namespace fovea::experiment {

/// Forward, loss (cross-entropy, or BCE + Dice), backward and update at the experiment's batch
/// size. The update is computed at a learning rate of 0, so that every step does the same work. No
/// data set is read.
class TrainingStep {
 public:
  TrainingStep(const Experiment& experiment, const Device& device);
  TrainingStep(const Experiment& experiment, const Device& device, const models::DataShape& shape);
  void operator()();

  const Device& device() const { return device_; }
  std::int64_t parameter_bytes() const { return parameter_bytes_; }
  std::int64_t gradient_bytes() const { return gradient_bytes_; }
  /// The optimiser's state, after a step; drops the gradients.
  std::int64_t optimiser_bytes();
  /// What the forward pass of the last step kept for its backward pass.
  std::int64_t saved_bytes() const { return saved_bytes_; }

 private:
  std::int64_t in_use() const { return device_.allocator().stats().bytes_in_use; }
  Tensor loss_of(const Tensor& output);

  Device device_;
  bool masks_;
  Tensor x_;
  Tensor targets_;  // made from the first output
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<optim::Optimiser> optimiser_;
  std::uint64_t number_ = 0;
  std::int64_t parameter_bytes_ = 0;
  std::int64_t gradient_bytes_ = 0;
  std::int64_t saved_bytes_ = 0;
  std::int64_t with_model_ = 0;  // bytes in use before the optimiser was made
};

}  // namespace fovea::experiment
