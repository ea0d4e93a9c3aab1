#include "experiment/costs/training_step.h"

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/backend.h"
#include "backend/devices.h"
#include "optim/registry.h"
#include "training/parameters.h"
#include "training/tasks/task_registry.h"

#include <chrono>
#include <utility>

namespace fovea::experiment {

TrainingStep::TrainingStep(const Experiment& e, const Device& device)
    : TrainingStep(e, device, data_shape(e)) {}

TrainingStep::TrainingStep(const Experiment& e, const Device& device,
                           const models::DataShape& shape, const StepSettings& settings)
    : device_(device), update_(settings.update), graphs_(e.train.cuda_graphs) {
  const training::TaskEntry& task = training::tasks().find(e.task);
  const std::int64_t size = settings.batch_size > 0 ? settings.batch_size : e.train.batch_size;
  set_batch(task.random_batch(seen_shape(e, shape), size, device));
  const std::int64_t before = in_use();
  model_ = make_model(e, device, shape);
  with_model_ = in_use();
  parameter_bytes_ = with_model_ - before;
  task_ = task.make(*model_, nullptr, e.loss.value_or(schema::Component{}));
  training::freeze(*model_, e.train.freeze);
  for (const nn::NamedTensor& named : model_->parameters())
    gradient_bytes_ += named.tensor.requires_grad() ? named.tensor.bytes() : 0;
  optimiser_ = optim::make_optimiser(e.optimizer, training::parameters_of(*model_));
}

void TrainingStep::begin() {
  if (!model_->training()) model_->train(true);
  task_->set_random(RandomStream(1).fork(number_++));
  optimiser_->zero_grad();
}

Tensor TrainingStep::forward() {
  const std::int64_t start = in_use();
  Tensor loss = task_->loss(batch_);
  saved_bytes_ = in_use() - start;
  return loss;
}

// At rate 0 the weights stay what they are: one batch seen again and again would soon be known by
// heart, and gradients too small to be normal numbers make processors many times slower.
void TrainingStep::update() {
  autograd::Profiler* profiler = autograd::mode().profiler;
  const Moment start = autograd::moment_on(device_);
  optimiser_->step(update_ ? optimiser_->base_lr() : 0);
  if (profiler == nullptr) return;
  // It reads gradients, and reads and writes what they change: weights and state.
  autograd::Event event{.op = "optimiser", .update = true};
  std::int64_t changed = 0;
  for (const optim::Parameter& parameter : optimiser_->parameters()) {
    if (!parameter.tensor.grad().defined()) continue;
    event.read_bytes += parameter.tensor.grad().bytes();
    changed += parameter.tensor.bytes();
  }
  for (const auto& [name, tensor] : optimiser_->state()) changed += tensor.bytes();
  event.read_bytes += changed;
  event.written_bytes = changed;
  profiler->add(std::move(event), device_, start);
}

Tensor TrainingStep::operator()() {
  begin();
  RecordedStep recorded(device_, graphs_);
  const Tensor loss = forward();
  autograd::backward(loss);
  update();
  recorded.finish();
  return loss.detach();
}

StepTimes TrainingStep::timed() {
  using Clock = std::chrono::steady_clock;
  begin();
  device_.synchronize();
  auto last = Clock::now();
  const auto lap = [&] {
    device_.synchronize();
    const auto now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last, now)).count();
  };
  StepTimes times;
  const Tensor loss = forward();
  times.forward_s = lap();
  autograd::backward(loss);
  times.backward_s = lap();
  update();
  times.update_s = lap();
  return times;
}

models::Outputs TrainingStep::infer() {
  const autograd::NoGrad no_grad;
  if (model_->training()) model_->train(false);
  return task_->output(batch_);
}

std::int64_t TrainingStep::optimiser_bytes() {
  optimiser_->zero_grad();
  return in_use() - with_model_;
}

std::int64_t step_peak_bytes(const Experiment& e, const models::DataShape& shape) {
  const Device meta = make_meta();
  TrainingStep step(e, meta, shape);
  step();
  const std::int64_t averages = e.train.ema_decay > 0 ? step.parameter_bytes() : 0;
  return meta.allocator().stats().peak_bytes + averages;
}

}  // namespace fovea::experiment
