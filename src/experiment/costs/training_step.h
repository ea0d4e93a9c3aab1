// One training step of an experiment on random inputs, to be timed and weighed.
#pragma once

#include <memory>

#include "experiment/file/experiment.h"
#include "optim/optimiser.h"
#include "training/tasks/task.h"

namespace fovea::experiment {

/// What is stepped on, and how.
struct StepSettings {
  std::int64_t batch_size = 0;  // 0 = the experiment's
  bool update = false;          // learn; else every step does the same work at a rate of 0
};

/// Seconds of the parts of a step.
struct StepTimes {
  double forward_s = 0, backward_s = 0, update_s = 0;
};

/// Forward, loss, backward and update of an experiment's task. No data set is read beyond its
/// sizes.
class TrainingStep {
 public:
  TrainingStep(const Experiment& experiment, const Device& device);
  TrainingStep(const Experiment& experiment, const Device& device, const models::DataShape& shape,
               const StepSettings& settings = {});

  /// Returns the loss before the update.
  Tensor operator()();
  /// The same part by part, each waited for, and so never as a graph of kernels.
  StepTimes timed();
  /// The forward pass alone, without gradients.
  models::Outputs infer();
  /// The loss of what infer() gave.
  Tensor loss_of(const models::Outputs& output) const { return task_->loss_of(output, batch_); }

  models::Model& model() { return *model_; }
  const Device& device() const { return device_; }
  /// What is stepped on, on the device.
  const data::Batch& batch() const { return batch_; }
  void set_batch(data::Batch batch) { batch_ = std::move(batch); }

  std::int64_t parameter_bytes() const { return parameter_bytes_; }
  std::int64_t gradient_bytes() const { return gradient_bytes_; }
  /// The optimiser's state, after a step; drops the gradients.
  std::int64_t optimiser_bytes();
  /// What the forward pass of the last step kept for its backward pass.
  std::int64_t saved_bytes() const { return saved_bytes_; }

 private:
  void begin();
  Tensor forward();
  void update();
  std::int64_t in_use() const { return device_.allocator().stats().bytes_in_use; }

  Device device_;
  bool update_;
  bool graphs_;
  data::Batch batch_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<training::Task> task_;
  std::unique_ptr<optim::Optimiser> optimiser_;
  std::uint64_t number_ = 0;
  std::int64_t parameter_bytes_ = 0;
  std::int64_t gradient_bytes_ = 0;
  std::int64_t saved_bytes_ = 0;
  std::int64_t with_model_ = 0;  // bytes in use before the optimiser was made
};

/// The peak of a training step's memory in bytes, counted on the meta device: weights, gradients of
/// those that are trained (train.freeze), the optimiser's state, averaged weights, and what is kept
/// for backward.
std::int64_t step_peak_bytes(const Experiment& experiment, const models::DataShape& shape);

}  // namespace fovea::experiment
