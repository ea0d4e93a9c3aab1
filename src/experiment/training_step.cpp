#include "experiment/training_step.h"

#include "autograd/graph.h"
#include "ops/create.h"
#include "ops/loss.h"
#include "optim/registry.h"

namespace fovea::experiment {
namespace {

// One class for each row of logits.
Tensor some_classes(const Tensor& logits) {
  std::vector<std::int64_t> classes(static_cast<std::size_t>(logits.size(0)));
  for (std::size_t i = 0; i < classes.size(); ++i)
    classes[i] = static_cast<std::int64_t>(i) % logits.size(-1);
  return Tensor::from(classes, {logits.size(0)}, logits.device());
}

}  // namespace

TrainingStep::TrainingStep(const Experiment& e, const Device& device)
    : TrainingStep(e, device, data_shape(e)) {}

TrainingStep::TrainingStep(const Experiment& e, const Device& device,
                           const models::DataShape& shape)
    : device_(device), masks_(e.task == "segmentation") {
  x_ = random_batch(e, shape, e.train.batch_size, device);
  const std::int64_t before = in_use();
  model_ = make_model(e, device, shape);
  model_->train(true);
  with_model_ = in_use();
  parameter_bytes_ = with_model_ - before;
  std::vector<optim::Parameter> parameters;
  for (const nn::NamedTensor& named : model_->parameters()) {
    parameters.push_back({named.name, named.tensor});
    gradient_bytes_ += named.tensor.bytes();
  }
  optimiser_ = optim::make_optimiser(e.optimizer, parameters);
}

Tensor TrainingStep::loss_of(const Tensor& output) {
  if (!targets_.defined()) targets_ = masks_ ? ops::zeros_like(output) : some_classes(output);
  return masks_ ? ops::bce_dice(output, targets_) : ops::cross_entropy(output, targets_);
}

void TrainingStep::operator()() {
  model_->set_random(RandomStream(1).fork(number_++));
  optimiser_->zero_grad();
  const std::int64_t start = in_use();
  const Tensor loss = loss_of((*model_)(x_));
  saved_bytes_ = in_use() - start;
  autograd::backward(loss);
  // At rate 0 the weights stay what they are: one batch seen again and again would soon be known by
  // heart, and gradients too small to be normal numbers make processors many times slower.
  optimiser_->step(0);
}

std::int64_t TrainingStep::optimiser_bytes() {
  optimiser_->zero_grad();
  return in_use() - with_model_ - targets_.bytes();
}

}  // namespace fovea::experiment
