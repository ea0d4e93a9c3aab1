// The mode of operations on this thread: whether gradients are recorded, whether values are
// checked, which profiler measures. Set by scopes only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::autograd {

class CallNumbers;
class Profiler;

/// How gradients flow back through products, norms and non-linear functions of an element.
enum class Rule {
  kGradient,  // as they are
  /// AttnLRP (Achtibat et al., ICML 2024), whose relevance is x times this "gradient": statistics
  /// of norms are constants, dy/dx of a function of an element is y / x, and of a product of two
  /// computed tensors each factor gets half. Softmax and linear operations are differentiated.
  kAttnLrp,
  /// CP-LRP (Ali et al., ICML 2022) inside attentions, whose maps are constants; else the same.
  kCpLrp,
};

struct Mode {
  bool grad = true;             // record nodes for backward
  bool detect_anomaly = false;  // stop at the first operation whose result is not finite
  Profiler* profiler = nullptr;
  std::vector<std::string> path;          // names of the modules being run, outermost first
  CallNumbers* recorded = nullptr;        // where the numbers of calls are noted
  CallNumbers* replayed = nullptr;        // where they come from
  std::vector<Tensor>* leaves = nullptr;  // where the leaves are noted that operations read
  Rule rule = Rule::kGradient;            // of operations that are recorded
  /// Sees and replaces what modules put out (autograd/hooks.h).
  const std::function<Tensor(const std::string& module, const Tensor& output)>* hook = nullptr;
  /// Hears of leaves whose gradients are whole (OnceReached).
  const std::function<void(const Tensor& leaf)>* reached = nullptr;
};

/// The mode of the calling thread.
Mode& mode();

/// "blocks.5.attn", or "" outside any module.
std::string module_path();

/// Restores one field of the mode at the end of a scope.
template <class T>
class Scope {
 public:
  Scope(T& field, T value) : field_(field), before_(field) { field_ = value; }
  ~Scope() { field_ = before_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  T& field_;
  T before_;
};

/// No gradients inside.
class NoGrad : Scope<bool> {
 public:
  NoGrad() : Scope(mode().grad, false) {}
};

/// Gradients on inside; for recomputation.
class EnableGrad : Scope<bool> {
 public:
  EnableGrad() : Scope(mode().grad, true) {}
};

/// Throw NumericError at the first non-finite result, forward or backward (train.detect_anomaly).
class DetectAnomaly : Scope<bool> {
 public:
  explicit DetectAnomaly(bool on = true) : Scope(mode().detect_anomaly, on) {}
};

/// Operations inside are recorded with this rule.
class WithRule : Scope<Rule> {
 public:
  explicit WithRule(Rule rule) : Scope(mode().rule, rule) {}
};

/// While it lives, backward() calls `reached` with each leaf as soon as it has added the last part
/// of that leaf's gradient, so that something can be done with it while backward goes on. The
/// function may take the gradient away.
class OnceReached : Scope<const std::function<void(const Tensor& leaf)>*> {
 public:
  explicit OnceReached(const std::function<void(const Tensor& leaf)>& reached)
      : Scope(mode().reached, &reached) {}
};

/// Report operations to a profiler.
class Profile : Scope<Profiler*> {
 public:
  explicit Profile(Profiler& profiler) : Scope(mode().profiler, &profiler) {}
};

/// The numbers of the calls of modules inside a function, which the calls get again when the
/// function is run again.
class CallNumbers {
 public:
  /// Records the numbers of all calls while it lives, also for an outer recorder.
  class Recording {
   public:
    explicit Recording(CallNumbers& to);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    CallNumbers& to_;
    CallNumbers* outer_;
  };
  /// Gives calls the recorded numbers, in their order.
  class Replay {
   public:
    explicit Replay(const CallNumbers& numbers);

   private:
    std::unique_ptr<CallNumbers> numbers_;
    Scope<CallNumbers*> replayed_;
    Scope<CallNumbers*> recorded_;
  };

 private:
  friend std::uint64_t call_number(std::uint64_t& calls);
  std::vector<std::uint64_t> numbers_;
  std::size_t next_ = 0;
};

/// The number of a call of a module that draws random numbers: how often it was called before in
/// this pass, which `calls` counts. Where a part of a pass is computed again, calls keep their
/// numbers.
std::uint64_t call_number(std::uint64_t& calls);

/// Names the module whose operations run inside; an empty name (the root) adds nothing.
class ModuleScope {
 public:
  explicit ModuleScope(const std::string& name);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  bool named_;
};

}  // namespace fovea::autograd
