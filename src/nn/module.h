// Module: named parameters, buffers and children. Dotted names are those of the public reference
// implementations, so that a checkpoint exported from PyTorch loads without a mapping.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/hooks.h"
#include "autograd/mode.h"
#include "nn/construction.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace fovea::nn {

/// How weights of linear layers and convolutions start.
enum class Init {
  kTorch,        // weight and bias uniform in +-1 / sqrt(fan_in) (dgsa 2.8)
  kTruncNormal,  // normal(0, 0.02) truncated at +-2, biases 0, as in timm (dgsa 2.8)
  kPvt,      // linear layers as kTruncNormal, convolutions normal(0, sqrt(2 / fan_out)), biases 0
             // (gdla 3.1)
  kXavier,   // uniform in +-sqrt(6 / (fan_in + fan_out)), biases 0 (gdla 2.11, mala 4.5)
  kKaiming,  // weights of convolutions normal(0, sqrt(2 / fan_out)), all else kTorch (kcla 2.0)
  kHe,       // convolutions normal(0, sqrt(2 / fan_in)), biases 0, as nnU-Net's networks
  kHead,     // normal(0, 0.01), biases 0: heads of dense prediction, as in mmdet and mmseg
};

/// Where and how parameters are made.
struct Build {
  Device device;
  DType dtype = DType::kFloat32;
  RandomStream random;  // forked by dotted name: a value does not depend on what was made before
  Init init = Init::kTorch;
  /// Of the activations between the layers: bfloat16 is mixed precision; none: dtype.
  std::optional<DType> activations = std::nullopt;
  /// Counts what is made; null = nobody does.
  std::shared_ptr<Construction> construction = nullptr;

  DType activation_dtype() const { return activations.value_or(dtype); }
  /// For a child or a parameter of that name, which is counted (Construction::add).
  Build at(std::string_view name) const {
    if (construction != nullptr) construction->add();
    Build below = *this;
    if (!name.empty()) below.random = random.fork(name);
    return below;
  }
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

class Module {
 public:
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Class name for summaries ("Linear", "MDGSA").
  virtual std::string type() const = 0;
  /// True for the blocks that a network stacks, by which layers are counted
  /// (models/layer_order.h).
  virtual bool is_block() const { return false; }

  /// All parameters (buffers) below this module in order of registration, with dotted names.
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> buffers() const;
  std::int64_t parameter_count() const;
  /// Whether the file that a name is from also has the given name.
  using HasName = std::function<bool(const std::string& name)>;
  /// The dotted name of the tensor that other public code of the same network calls `name`; `name`
  /// itself where it is not translated, and "" for a tensor that is computed here and not stored.
  /// `in_file`: for networks whose names mean different things in different files.
  std::string own_name(const std::string& name, const HasName& in_file = nullptr) const;
  /// Whether public code of this network stores a tensor of this dotted name that its forward pass
  /// never uses: files have it, this module has not.
  bool is_unused(const std::string& name) const;

  /// Calls visit(dotted name, module) for this module ("") and everything below, parents first.
  using Visitor = std::function<void(const std::string& name, Module& module)>;
  void visit(const Visitor& visitor) { visit_from("", visitor); }
  /// Class names of this module and of everything below it, by dotted name; of a child with an
  /// empty name that of its parent stays.
  std::map<std::string, std::string> types() const;

  /// Training or evaluation mode, for everything below.
  void train(bool on);
  bool training() const { return training_; }
  /// Takes this module and everything below out of training: parameters get no gradient, and
  /// train() leaves them in evaluation mode.
  void freeze();
  /// The same for the parameters of these dotted names alone: they get no gradient. Modules whose
  /// parameters are all frozen, here and below, are taken out of training as by freeze(): batch
  /// norms keep their statistics, dropout is off.
  void freeze(const std::function<bool(const std::string& name)>& is_named);
  /// train() leaves this module, without those below it, in evaluation mode: a batch norm goes on
  /// with its running statistics.
  void keep_evaluating();
  /// Begins a forward pass: gives everything below its randomness, forked by dotted name. With the
  /// same stream a pass draws the same masks again (replay).
  void set_random(const RandomStream& random);

 protected:
  Module() = default;
  /// Registers a parameter (requires_grad is set), a buffer (saved, not trained), a child. A child
  /// with an empty name adds nothing to the dotted names below it.
  Tensor parameter(const std::string& name, Tensor value);
  Tensor buffer(const std::string& name, Tensor value);
  template <class M>
  M& child(const std::string& name, std::unique_ptr<M> module) {
    M& reference = *module;
    reference.name_ = name;
    children_.emplace_back(name, std::move(module));
    return reference;
  }
  /// Makes M(build.at(name), args...) and registers it.
  template <class M, class... Args>
  M& child(const std::string& name, const Build& build, Args&&... args) {
    return child(name, std::make_unique<M>(build.at(name), std::forward<Args>(args)...));
  }
  /// A stream for one call of this module in the current pass. Every call has its own: a module
  /// that is used in two places does not draw the same mask twice. A call that is computed again
  /// for backward (autograd::checkpoint) draws the same numbers.
  RandomStream next_random();
  /// own_name() of this module, before its children are asked: a module whose names differ between
  /// public programs translates here.
  virtual std::string translated(const std::string& name) const { return name; }
  /// The same, where the translation depends on the other names of the file.
  virtual std::string translated_in_file(const std::string& name, const HasName&) const {
    return translated(name);
  }
  /// is_unused() of this module, before its children are asked.
  virtual bool keeps_unused(const std::string&) const { return false; }
  /// Names this module in profiles and anomaly messages while the scope lasts.
  autograd::ModuleScope enter() const { return autograd::ModuleScope(name_); }

 private:
  bool freeze_from(const std::string& prefix, const std::function<bool(const std::string&)>& named);
  void visit_from(const std::string& prefix, const Visitor& visitor);
  void add_types(const std::string& prefix, std::map<std::string, std::string>& to) const;
  void collect(const std::string& prefix, bool want_buffers, std::vector<NamedTensor>& out) const;

  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<std::pair<std::string, std::unique_ptr<Module>>> children_;
  std::string name_;         // within the parent
  RandomStream random_;      // of the current pass
  std::uint64_t calls_ = 0;  // of next_random() in it
  bool training_ = false;
  bool evaluates_ = false;  // whatever train() says
};

/// A module that maps one tensor to one.
class UnaryModule : public Module {
 public:
  Tensor operator()(const Tensor& x) {
    const auto scope = enter();
    return autograd::hooked(forward(x));
  }

 protected:
  virtual Tensor forward(const Tensor& x) = 0;
};

}  // namespace fovea::nn
