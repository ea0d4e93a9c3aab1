// The base of all optimisers: parameters with or without weight decay, and a state that can be
// saved.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/fields.h"
#include "tensor/tensor.h"

namespace fovea::optim {

/// A leaf with its dotted name, and how many layers of the network lie between it and the output;
/// none: the network has no order of layers.
struct Parameter {
  std::string name;
  Tensor tensor;
  std::optional<std::int64_t> layers_to_output = {};
};

/// Which parameters decay, and which do not.
enum class NoDecay {
  kNone,            // all decay, as in the vision recipe of dgsa 6.1
  kNormAndBias,     // not biases and weights of normalisations, by role (dgsa 6.2)
  kOneDimensional,  // not parameters of rank 0 or 1, nor biases (gdla 6.1, mala 7.1)
  kTimm,            // as kOneDimensional, nor learned position tables and tokens
};

/// By role: a bias is called "bias" or "..._bias"; the weight of a normalisation is the only kind
/// of tensor called "weight" that has one axis. Embeddings, class tokens, lambda vectors decay.
/// kTimm adds to kOneDimensional what timm's networks name in no_weight_decay(): pos_embed,
/// cls_token, dist_token, reg_token, relative_position_bias_table, and Swin's absolute_pos_embed.
bool decays(const Parameter& parameter, NoDecay rule);

/// Parameters with a rate or a weight decay of their own.
struct GroupOptions {
  std::vector<std::string> params;     // patterns (base/name_pattern.h)
  double lr_scale = 1;                 // their rate relative to that of the others
  std::optional<double> weight_decay;  // of those that decay; none: as the others
  bool operator==(const GroupOptions&) const = default;
};

struct OptimiserOptions {
  double lr = 1e-3;
  double weight_decay = 0;
  NoDecay no_decay = NoDecay::kNone;
  std::vector<std::string> no_decay_names;  // patterns, besides the rule
  std::vector<GroupOptions> param_groups;
  double layer_decay = 1;  // factor of the rate from each layer to the one before it
  bool operator==(const OptimiserOptions&) const = default;
};
const schema::Fields<OptimiserOptions>& optimiser_fields();

/// A parameter without a gradient is skipped in a step: neither it nor its state changes.
class Optimiser {
 public:
  virtual ~Optimiser() = default;
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;

  /// The rate from the configuration, which schedules scale.
  double base_lr() const { return options_.lr; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// The weight decay of each parameter: that of its group or of the options, or 0.
  const std::vector<double>& weight_decay() const { return weight_decay_; }
  /// The rate of each parameter relative to that of a step: lr_scale of its group times
  /// layer_decay^layers_to_output, as in timm.
  const std::vector<double>& lr_scale() const { return lr_scale_; }

  /// One update of all parameters from their gradients, in place. Gradients count times `scale`,
  /// see step_scale(); nothing changes where it is not finite.
  void step(double lr, const Tensor& scale = {});
  /// Drops all gradients.
  void zero_grad();

  /// Everything a later step depends on besides the parameters, as "<parameter>.<what>". The
  /// tensors share memory with the optimiser.
  std::map<std::string, Tensor> state() const;
  /// Loads the state of another run of the same network. Throws FileError naming the first tensor
  /// that is missing, unexpected or of another shape or dtype; then nothing has changed.
  void load_state(const std::map<std::string, Tensor>& state);

 protected:
  /// Throws ConfigError for a pattern that matches no parameter, for a parameter in two groups, and
  /// for layer_decay where a network has no order of layers.
  Optimiser(std::vector<Parameter> parameters, const OptimiserOptions& options);

  /// What an optimiser keeps for one parameter. Buffers are undefined until the first step.
  struct Slot {
    std::int64_t step = 0;
    std::vector<Tensor> buffers;
  };
  /// The name in error messages.
  virtual const char* name() const = 0;
  /// Names of the buffers of a slot, PyTorch's words.
  virtual std::vector<std::string> buffer_names() const = 0;
  /// What parameters that are updated in one call of the backend have in common. `step` counts from
  /// 1.
  struct Update {
    double lr = 0, weight_decay = 0;
    std::int64_t step = 1;
    Tensor scale;
  };
  struct Member {
    Tensor parameter, gradient;
    Slot* slot;
  };
  virtual void update(const Update& update, const std::vector<Member>& members) const = 0;

 private:
  std::vector<Parameter> parameters_;
  OptimiserOptions options_;
  std::vector<double> weight_decay_, lr_scale_;
  std::vector<Slot> slots_;
};

/// Sum over all gradients of g^2: a scalar of the backend's widest type on the device of the
/// parameters (at least one), without waiting for the device.
Tensor grad_square_sum(const std::vector<Parameter>& parameters);
/// The factor that an optimiser multiplies all gradients by, computed on the device. `scalars` (n)
/// are the losses of a step, then its grad_square_sum(): min(1, max_norm / (norm + 1e-6)) (dgsa
/// 6.4), or 1 if max_norm is 0; not finite if one of the scalars is not. A scalar as
/// grad_square_sum().
Tensor step_scale(const Tensor& scalars, double max_norm);
/// Clamps every element of every gradient to [-limit, limit].
void clip_grad_value(const std::vector<Parameter>& parameters, double limit);

}  // namespace fovea::optim
