#include "optim/ema.h"

#include <fmt/format.h>

#include <utility>

#include "backend/backend.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"

namespace fovea::optim {
Ema::Ema(std::vector<Parameter> weights, double decay)
    : weights_(std::move(weights)), decay_(decay) {
  FOVEA_CHECK(decay >= 0 && decay < 1, ConfigError,
              fmt::format("train.ema_decay: expected a number in [0, 1), got {}", decay));
  for (const Parameter& weight : weights_) averages_.push_back(ops::clone(weight.tensor.detach()));
}

void Ema::update() {
  std::vector<Averaged> pairs;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    pairs.push_back({weights_[i].tensor, averages_[i]});
  if (pairs.empty()) return;
  // 1 - decay is exact in float32 for a decay that is. Otherwise the two shares have another sum
  // than 1, and weights that do not change would have averages that do: by 0.017 % with 0.9999.
  backend(averages_.front()).ema(static_cast<double>(static_cast<float>(decay_)), pairs);
  for (const Tensor& average : averages_) average.written("ema");
}

std::map<std::string, Tensor> Ema::state() const {
  std::map<std::string, Tensor> state;
  for (std::size_t i = 0; i < weights_.size(); ++i) state[weights_[i].name] = averages_[i];
  return state;
}

void Ema::load_state(const std::map<std::string, Tensor>& state) {
  std::vector<Tensor> averages;
  for (const Parameter& weight : weights_) {
    const auto found = state.find(weight.name);
    FOVEA_CHECK(found != state.end(), FileError,
                fmt::format("averaged weights: {} is missing", weight.name));
    const Tensor& value = found->second;
    FOVEA_CHECK(value.shape() == weight.tensor.shape() && value.dtype() == weight.tensor.dtype(),
                FileError,
                fmt::format("averaged weights: {} is {} {}, model has {} {}", weight.name,
                            name_of(value.dtype()), to_string(value.shape()),
                            name_of(weight.tensor.dtype()), to_string(weight.tensor.shape())));
    averages.push_back(ops::clone(ops::to(value, weight.tensor.device())));
  }
  FOVEA_CHECK(
      state.size() == weights_.size(), FileError,
      fmt::format("averaged weights: {} tensors, model has {}", state.size(), weights_.size()));
  averages_ = std::move(averages);
}

Ema::Applied::Applied(const Ema& ema) : ema_(ema) {
  for (const Parameter& weight : ema.weights_) saved_.push_back(ops::clone(weight.tensor.detach()));
  for (std::size_t i = 0; i < saved_.size(); ++i)
    ops::copy_into(ema.averages_[i], ema.weights_[i].tensor);
}

Ema::Applied::~Applied() {
  for (std::size_t i = 0; i < saved_.size(); ++i)
    ops::copy_into(saved_[i], ema_.weights_[i].tensor);
}

}  // namespace fovea::optim
