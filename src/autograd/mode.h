// What surrounds an operation on this thread: whether gradients are recorded, whether values are
// checked, who measures. Set by scopes only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fovea::autograd {

class Profiler;

struct Mode {
  bool grad = true;             // record nodes for backward
  bool detect_anomaly = false;  // stop at the first operation whose result is not finite
  Profiler* profiler = nullptr;
  std::vector<std::string> path;  // names of the modules being run, outermost first
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

/// Report operations to a profiler.
class Profile : Scope<Profiler*> {
 public:
  explicit Profile(Profiler& profiler) : Scope(mode().profiler, &profiler) {}
};

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
