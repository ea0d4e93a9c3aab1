#include "optim/optimiser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "autograd/mode.h"
#include "backend/backend.h"
#include "base/error.h"
#include "base/name_pattern.h"
#include "base/suggest.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::optim {
namespace {

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

bool is_bias(const std::string& name) {
  const std::string last = last_part(name);
  return last == "bias" || last.ends_with("_bias");
}

// Parameters of rank 2 and above that no_weight_decay() of timm's networks lists.
bool is_exempt_in_timm(const std::string& name) {
  constexpr std::string_view kExempt[] = {
      "pos_embed",          "cls_token", "dist_token", "reg_token", "relative_position_bias_table",
      "absolute_pos_embed",
  };
  return std::ranges::find(kExempt, last_part(name)) != std::end(kExempt);
}

void check_all_match(const std::vector<std::string>& patterns,
                     const std::vector<Parameter>& parameters) {
  for (const std::string& pattern : patterns) {
    const bool any = std::ranges::any_of(
        parameters, [&](const Parameter& p) { return matches_pattern(p.name, pattern); });
    if (any) continue;
    std::vector<std::string> names;
    for (const Parameter& p : parameters) names.push_back(p.name);
    const std::string hint = did_you_mean(pattern, names);
    throw ConfigError(fmt::format(
        "optimizer.no_decay_names: \"{}\" matches none of the {} parameters{}", pattern,
        parameters.size(), hint.empty() ? "; * stands for any characters, dots too" : hint));
  }
}

const Tensor& take(const std::map<std::string, Tensor>& state, const std::string& name) {
  const auto found = state.find(name);
  FOVEA_CHECK(
      found != state.end(), FileError,
      fmt::format("optimiser state: {} is missing; it was saved by another optimiser or for "
                  "another network",
                  name));
  return found->second;
}

void check_like(const std::string& name, const Tensor& given, const Tensor& parameter) {
  FOVEA_CHECK(given.shape() == parameter.shape() && given.dtype() == parameter.dtype(), FileError,
              fmt::format("optimiser state: {} is {} {}, expected {} {}", name,
                          name_of(given.dtype()), to_string(given.shape()),
                          name_of(parameter.dtype()), to_string(parameter.shape())));
}

std::vector<Tensor> gradients_of(const std::vector<Parameter>& parameters) {
  std::vector<Tensor> gradients;
  for (const Parameter& parameter : parameters) {
    if (Tensor gradient = parameter.tensor.grad(); gradient.defined())
      gradients.push_back(std::move(gradient));
  }
  return gradients;
}

}  // namespace

bool decays(const Parameter& parameter, NoDecay rule) {
  const int rank = parameter.tensor.rank();
  switch (rule) {
    case NoDecay::kNone:
      return true;
    case NoDecay::kNormAndBias:
      return !is_bias(parameter.name) && !(rank == 1 && last_part(parameter.name) == "weight");
    case NoDecay::kOneDimensional:
      return rank > 1 && !is_bias(parameter.name);
    case NoDecay::kTimm:
      return rank > 1 && !is_bias(parameter.name) && !is_exempt_in_timm(parameter.name);
  }
  return true;
}

const schema::Fields<OptimiserOptions>& optimiser_fields() {
  static const auto fields =
      schema::Fields<OptimiserOptions>{}
          .add("lr", &OptimiserOptions::lr, schema::at_least(0),
               "learning rate before the schedule")
          .add("weight_decay", &OptimiserOptions::weight_decay, schema::at_least(0), "weight decay")
          .add_enum(
              "no_decay", &OptimiserOptions::no_decay,
              {{"none", NoDecay::kNone},
               {"norm_and_bias", NoDecay::kNormAndBias},
               {"one_dimensional", NoDecay::kOneDimensional},
               {"timm", NoDecay::kTimm}},
              "parameters without weight decay: none; norm_and_bias: biases and the weights of "
              "normalisations, by role; one_dimensional: all biases and everything with at most "
              "one axis; timm: as one_dimensional, and the networks' own list (pos_embed, "
              "cls_token, dist_token, reg_token, relative_position_bias_table, "
              "absolute_pos_embed)")
          .add("no_decay_names", &OptimiserOptions::no_decay_names,
               "names of further parameters without weight decay; * stands for any characters: "
               "\"*.lambda_scale\"");
  return fields;
}

Optimiser::Optimiser(std::vector<Parameter> parameters, const OptimiserOptions& options)
    : parameters_(std::move(parameters)), options_(options), slots_(parameters_.size()) {
  check_all_match(options.no_decay_names, parameters_);
  for (const Parameter& parameter : parameters_) {
    const bool named = std::ranges::any_of(options.no_decay_names, [&](const std::string& pattern) {
      return matches_pattern(parameter.name, pattern);
    });
    const bool decaying = !named && decays(parameter, options.no_decay);
    weight_decay_.push_back(decaying ? options.weight_decay : 0.0);
  }
}

void Optimiser::step(double lr, const Tensor& scale) {
  std::map<std::pair<std::int64_t, double>, std::vector<Member>> groups;
  const std::size_t buffers = buffer_names().size();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor;
    const Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    Slot& slot = slots_[i];
    while (slot.buffers.size() < buffers) slot.buffers.push_back(ops::zeros_like(parameter));
    groups[{++slot.step, weight_decay_[i]}].push_back({parameter, gradient, &slot});
  }
  for (const auto& [of, members] : groups) {
    update({.lr = lr, .weight_decay = of.second, .step = of.first, .scale = scale}, members);
    for (const Member& member : members) {
      member.parameter.written(name());
      for (const Tensor& buffer : member.slot->buffers) buffer.written(name());
    }
  }
}

void Optimiser::zero_grad() {
  for (const Parameter& parameter : parameters_) parameter.tensor.set_grad({});
}

std::map<std::string, Tensor> Optimiser::state() const {
  const std::vector<std::string> names = buffer_names();
  std::map<std::string, Tensor> state;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = parameters_[i].name;
    state[name + ".step"] =
        Tensor::scalar<std::int64_t>(slots_[i].step, parameters_[i].tensor.device());
    for (std::size_t b = 0; b < slots_[i].buffers.size(); ++b) {
      state[name + "." + names[b]] = slots_[i].buffers[b];
    }
  }
  return state;
}

void Optimiser::load_state(const std::map<std::string, Tensor>& state) {
  const std::vector<std::string> names = buffer_names();
  std::vector<Slot> slots(parameters_.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    const Tensor& step = take(state, name + ".step");
    FOVEA_CHECK(step.dtype() == DType::kInt64 && step.numel() == 1, FileError,
                fmt::format("optimiser state: {}.step is {} {}, expected one int64", name,
                            name_of(step.dtype()), to_string(step.shape())));
    slots[i].step = step.item<std::int64_t>();
    ++used;
    if (slots[i].step == 0) continue;
    for (const std::string& buffer : names) {
      const Tensor& value = take(state, name + "." + buffer);
      check_like(name + "." + buffer, value, tensor);
      slots[i].buffers.push_back(ops::clone(ops::to(value, tensor.device())));
      ++used;
    }
  }
  if (used != state.size()) {
    std::map<std::string, Tensor> unexpected = state;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      unexpected.erase(parameters_[i].name + ".step");
      if (slots[i].step == 0) continue;
      for (const std::string& buffer : names) unexpected.erase(parameters_[i].name + "." + buffer);
    }
    throw FileError(fmt::format("optimiser state: {} is not part of this optimiser and network",
                                unexpected.begin()->first));
  }
  slots_ = std::move(slots);
}

Tensor grad_square_sum(const std::vector<Parameter>& parameters) {
  const Tensor& first = parameters.front().tensor;
  const Tensor sum = ops::zeros({}, backend(first).widest(), first.device());
  const std::vector<Tensor> gradients = gradients_of(parameters);
  if (!gradients.empty()) backend(sum).sum_squares(gradients, sum);
  return sum;
}

Tensor step_scale(const Tensor& scalars, double max_norm) {
  const autograd::NoGrad no_grad;
  // 0, or not a number.
  const Tensor finite = ops::sum(ops::mul(scalars, 0));
  if (max_norm == 0) return ops::add(finite, 1);
  const std::int64_t last = scalars.size(0) - 1;
  const Tensor norm = ops::sqrt(ops::reshape(ops::slice(scalars, 0, last, 1), {}));
  const Tensor most = ops::full({}, max_norm, scalars.dtype(), scalars.device());
  return ops::add(ops::clamp(ops::div(most, ops::add(norm, 1e-6)), 0, 1), finite);
}

void clip_grad_value(const std::vector<Parameter>& parameters, double limit) {
  for (const Tensor& gradient : gradients_of(parameters)) {
    backend(gradient).unary(UnaryOp::kClamp, {-limit, limit}, gradient, gradient);
    gradient.written("clip_grad_value");
  }
}

}  // namespace fovea::optim
