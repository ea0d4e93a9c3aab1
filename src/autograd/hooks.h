// Looks into a graph, and changes what flows back through it, without changing any operation.
#pragma once

#include <functional>
#include <string>

#include "autograd/mode.h"
#include "tensor/tensor.h"

namespace fovea::autograd {

/// x itself. Backward calls `see` with the gradient of x, once, before it goes on. Without a
/// gradient to come `see` is never called.
Tensor observed(const Tensor& x, std::function<void(const Tensor& gradient)> see);

/// The values of x; backward hands down `factor` times the gradient. 0: x outside the graph.
Tensor with_scaled_gradient(const Tensor& x, double factor);

/// Called with the dotted name of a module and what it puts out, which is replaced by the result.
using ModuleHook = std::function<Tensor(const std::string& module, const Tensor& output)>;

/// Calls the hook for every module of one input and one output (nn::UnaryModule), and wherever a
/// module calls hooked(), while it lives. Hooks do not nest: the inner one replaces the outer one.
class HookModules : Scope<const ModuleHook*> {
 public:
  explicit HookModules(const ModuleHook& hook) : Scope(mode().hook, &hook) {}
  explicit HookModules(ModuleHook&&) = delete;  // it has to live as long
};

/// What the hook makes of the output of the module that runs, or of a part of it by that name;
/// `output` itself without one.
Tensor hooked(const Tensor& output, const std::string& part = "");

}  // namespace fovea::autograd
