// What every optimiser has: parameters with or without weight decay, and a state that can be saved.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schema/fields.h"
#include "tensor/tensor.h"

namespace fovea::optim {

/// A leaf with its dotted name.
struct Parameter {
  std::string name;
  Tensor tensor;
};

/// Which parameters weight decay leaves alone.
enum class NoDecay {
  kNone,            // all decay, as in the vision recipe of dgsa 6.1
  kNormAndBias,     // biases and the weights of normalisations do not, by role (dgsa 6.2)
  kOneDimensional,  // nothing of rank 0 or 1, and no bias, does (timm)
};

/// By role: a bias is called "bias" or "..._bias"; the weight of a normalisation is the only kind
/// of tensor called "weight" that has one axis. Embeddings, class tokens, lambda vectors decay.
bool decays(const Parameter& parameter, NoDecay rule);

struct OptimiserOptions {
  double lr = 1e-3;
  double weight_decay = 0;
  NoDecay no_decay = NoDecay::kNone;
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

  /// One update of all parameters from their gradients, in place.
  void step(double lr);
  /// Drops all gradients.
  void zero_grad();

  /// Everything a later step depends on besides the parameters, as "<parameter>.<what>". The
  /// tensors share memory with the optimiser.
  std::map<std::string, Tensor> state() const;
  /// Takes over the state of another run of the same network. Throws FileError naming the first
  /// tensor that is missing, unexpected or of another shape or dtype; then nothing has changed.
  void load_state(const std::map<std::string, Tensor>& state);

 protected:
  Optimiser(std::vector<Parameter> parameters, const OptimiserOptions& options);

  /// What an optimiser keeps for one parameter. Buffers are undefined until the first step.
  struct Slot {
    std::int64_t step = 0;
    std::vector<Tensor> buffers;
  };
  /// What errors call it.
  virtual const char* name() const = 0;
  /// Names of the buffers of a slot, PyTorch's words.
  virtual std::vector<std::string> buffer_names() const = 0;
  /// Updates one parameter; slot.step has been counted up to this step, from 1.
  virtual void update(const Tensor& parameter, const Tensor& gradient, Slot& slot, double lr,
                      double weight_decay) = 0;

 private:
  std::vector<Parameter> parameters_;
  OptimiserOptions options_;
  std::vector<double> weight_decay_;
  std::vector<Slot> slots_;
};

/// Sum over all gradients of g^2, () float64 on the device of the parameters, which are at least
/// one: nothing has been waited for yet.
Tensor grad_square_sum(const std::vector<Parameter>& parameters);
/// Its square root, read from the device.
double grad_norm(const std::vector<Parameter>& parameters);
/// With `norm` that of the gradients and c = max_norm / (norm + 1e-6), scales all gradients by c if
/// c < 1 (dgsa 6.4). Gradients are left alone if the norm is not finite.
void clip_grad_norm(const std::vector<Parameter>& parameters, double norm, double max_norm);
/// Clamps every element of every gradient to [-limit, limit].
void clip_grad_value(const std::vector<Parameter>& parameters, double limit);

}  // namespace fovea::optim
