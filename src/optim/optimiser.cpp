#include "optim/optimiser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <string_view>
#include <utility>

#include "autograd/mode.h"
#include "backend/backend.h"
#include "base/error.h"
#include "base/name_pattern.h"
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

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return matches_pattern(name, pattern); });
}

void check_patterns(const OptimiserOptions& options, const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  require_matches("optimizer.no_decay_names", options.no_decay_names, names, "parameters");
  for (std::size_t i = 0; i < options.param_groups.size(); ++i)
    require_matches(fmt::format("optimizer.param_groups.{}.params", i),
                    options.param_groups[i].params, names, "parameters");
}

// The group of a parameter; a default one for those of no group.
GroupOptions group_of(const std::string& name, const std::vector<GroupOptions>& groups) {
  const GroupOptions* found = nullptr;
  for (const GroupOptions& group : groups) {
    if (!matches_any(name, group.params)) continue;
    FOVEA_CHECK(found == nullptr, ConfigError,
                fmt::format("optimizer.param_groups: {} is in groups {} and {}; expected one", name,
                            found - groups.data(), &group - groups.data()));
    found = &group;
  }
  return found != nullptr ? *found : GroupOptions{};
}

double layer_scale(const Parameter& parameter, double layer_decay) {
  if (layer_decay == 1) return 1;
  FOVEA_CHECK(parameter.layers_to_output, ConfigError,
              fmt::format("optimizer.layer_decay: is {}, and the network has no order of blocks; "
                          "expected 1; optimizer.param_groups gives rates by name",
                          layer_decay));
  return std::pow(layer_decay, static_cast<double>(*parameter.layers_to_output));
}

const schema::Fields<GroupOptions>& group_fields() {
  static const auto fields =
      schema::Fields<GroupOptions>{}
          .add("params", &GroupOptions::params, "names of parameters; * stands for any characters")
          .required()
          .add("lr_scale", &GroupOptions::lr_scale, schema::at_least(0),
               "their learning rate relative to that of the schedule")
          .add("weight_decay", &GroupOptions::weight_decay, schema::at_least(0),
               "of those that decay by no_decay and no_decay_names; null = optimizer.weight_decay");
  return fields;
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
               "\"*.lambda_scale\"")
          .add_object("param_groups", &OptimiserOptions::param_groups, group_fields(),
                      "parameters with a rate or a weight decay of their own; each may be in one "
                      "group")
          .add("layer_decay", &OptimiserOptions::layer_decay,
               schema::greater_than(0) && schema::at_most(1),
               "factor of the learning rate from each layer to the one before it, for fine-tuning: "
               "the head has the whole rate; layers are timm's: the stem, each block, the head");
  return fields;
}

Optimiser::Optimiser(std::vector<Parameter> parameters, const OptimiserOptions& options)
    : parameters_(std::move(parameters)), options_(options), slots_(parameters_.size()) {
  check_patterns(options, parameters_);
  for (const Parameter& parameter : parameters_) {
    const GroupOptions group = group_of(parameter.name, options.param_groups);
    const bool decaying =
        !matches_any(parameter.name, options.no_decay_names) && decays(parameter, options.no_decay);
    weight_decay_.push_back(decaying ? group.weight_decay.value_or(options.weight_decay) : 0.0);
    lr_scale_.push_back(group.lr_scale * layer_scale(parameter, options.layer_decay));
  }
}

void Optimiser::step(double lr, const Tensor& scale) {
  struct Alike {
    std::int64_t step;
    double weight_decay, lr_scale;
    auto operator<=>(const Alike&) const = default;
  };
  std::map<Alike, std::vector<Member>> groups;
  const std::size_t buffers = buffer_names().size();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor;
    const Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    Slot& slot = slots_[i];
    while (slot.buffers.size() < buffers) slot.buffers.push_back(ops::zeros_like(parameter));
    groups[{++slot.step, weight_decay_[i], lr_scale_[i]}].push_back({parameter, gradient, &slot});
  }
  for (const auto& [of, members] : groups) {
    update(
        {.lr = lr * of.lr_scale, .weight_decay = of.weight_decay, .step = of.step, .scale = scale},
        members);
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
    const std::string& name = parameters_[i].name;
    const Tensor& tensor = parameters_[i].tensor;
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
