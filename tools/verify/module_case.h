// Runs a module on the inputs of a case, forward and backward, and compares everything.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "attention/attention.h"
#include "nn/module.h"
#include "verify/case.h"

namespace fovea::verify {

/// The case's inputs by name, as leaves that require a gradient where one is expected. What nothing
/// asks for by its name is an input that the operator does not take.
class Inputs {
 public:
  explicit Inputs(const Case& c);
  bool contains(const std::string& name) const { return tensors_.contains(name); }
  const Tensor& at(const std::string& name) const;
  /// The tensor, or an undefined one.
  Tensor find(const std::string& name) const { return contains(name) ? at(name) : Tensor(); }
  /// Compares the gradients that the case has, after backward.
  void compare_gradients(Checker& check) const;
  /// Throws NotImplemented if one was never asked for.
  void check_all_read() const;

 private:
  const Case& case_;
  std::map<std::string, Tensor> tensors_;
  mutable std::set<std::string> read_;
};

/// How parameters are made before the case's values replace them.
nn::Build build_for(const Case& c);

/// Copies param/* into the module's parameters and buffers; fails for names that do not match, but
/// for those that public code keeps unused. Throws NotImplemented unless the whole configuration
/// was read before: nothing runs without an option of the case.
void load_parameters(const Case& c, nn::Module& module, Checker& check);

/// Runs `forward` (inputs -> outputs by name), takes loss = sum(output * upstream), or the output
/// "loss" where there is no upstream, and compares outputs, gradients and buffers.
using Forward = std::function<std::map<std::string, Tensor>(const Inputs&)>;
void run_module(const Case& c, nn::Module& module, const Forward& forward, Checker& check);

/// The same of an operation without parameters.
void run_operation(const Case& c, const Forward& forward, Checker& check);

/// Compares aux/* with what a probe saw: aux/<name>, or aux/<name>/<layer> in networks.
void compare_probe(const Case& c, const attention::Probe& probe, Checker& check);

}  // namespace fovea::verify
