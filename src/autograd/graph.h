// The graph of recorded operations and the walk back through it.
#pragma once

#include <any>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::autograd {

/// The gradients an operation hands to its inputs during backward().
class Gradients {
 public:
  explicit Gradients(const std::vector<Tensor>& inputs) : inputs_(inputs) {}
  /// False for inputs that need no gradient: do no work for them.
  bool wanted(int input) const { return at(input).defined() && at(input).requires_grad(); }
  /// Adds to the gradient of an input. Pass temporaries (or std::move) so that it need not be
  /// copied.
  void add(int input, Tensor gradient);
  /// Sees to it that the operation behind an input runs backward, with or without a gradient.
  void call(int input);
  /// The gradient accumulated so far, zero at first, to be added to in place (slices, gathers).
  Tensor buffer(int input);

 private:
  const Tensor& at(int input) const { return inputs_[static_cast<std::size_t>(input)]; }
  const std::vector<Tensor>& inputs_;
};

/// Called once with the gradient of the output.
using Backward = std::function<void(const Tensor& gradient, Gradients& inputs)>;

struct Node {
  const char* op = "";
  std::string module;  // filled while detecting anomalies or profiling
  std::int64_t macs = 0;
  std::vector<Tensor> inputs;  // without values, and leaves; undefined where no gradient is wanted
  Backward backward;
  std::any recipe;  // how the output is made again, of a type that some operations know; or empty
  Tensor gradient;  // accumulated until the node's turn
  bool called = false;   // backward runs even without a gradient
  bool done = false;     // backward() has been through here and freed it
  Node* next = nullptr;  // in the queue of nodes to be freed
};

/// One operation being executed. Typical use, in ops/:
///
///   Tensor relu(const Tensor& x) {
///     Op op("relu", {x});
///     Tensor y = Tensor::empty_like(x);
///     backend(x).unary(UnaryOp::kRelu, {}, x, y);
///     return op.output(y, [x](const Tensor& dy, Gradients& in) { in.add(0, relu_backward(x, dy));
///     });
///   }
///
/// A closure that needs the result captures result.detach(): the result itself would keep its own
/// node alive for ever. The class checks that all defined inputs are on one device, measures time
/// for the profiler, and in anomaly mode checks the result.
class Op {
 public:
  Op(const char* name, std::initializer_list<Tensor> inputs);
  Op(const char* name, std::vector<Tensor> inputs);

  /// Multiply-adds of the forward pass, for the profiler.
  void macs(std::int64_t count) { macs_ = count; }
  /// True if backward will be recorded: save for it only then.
  bool records() const { return records_; }
  /// Records even though no input needs a gradient (recomputed modules with parameters inside).
  void force_recording();
  /// Says how the result can be made again at little cost. Operations that know the type keep that
  /// for backward instead of the result (recipe_of below), which is then free to go.
  void recipe(std::any value) { recipe_ = std::move(value); }
  /// Finishes the operation. An undefined `backward` marks a result that has no gradient.
  Tensor output(Tensor result, Backward backward);

 private:
  const char* name_;
  std::vector<Tensor> inputs_;
  std::int64_t macs_ = 0;
  bool records_ = false;
  std::any recipe_;
  std::chrono::steady_clock::time_point start_;
};

/// Multiply-adds that another operation does on its way, for the profiler: a factor that went into
/// the kernel of a convolution still counts as one of the map.
void count_macs(const char* op, std::int64_t macs);

/// `value` as a second result of the operation that made `main`, whose backward finds the gradient
/// of it in *gradient, or an undefined tensor there. That backward runs even where only this result
/// is used: the gradient it is called with is then undefined.
Tensor side_result(const Tensor& main, Tensor value, std::shared_ptr<Tensor> gradient);

/// How x can be made again, or null: it has to be kept.
template <class Recipe>
const Recipe* recipe_of(const Tensor& x) {
  return x.defined() && x.node() ? std::any_cast<Recipe>(&x.node()->recipe) : nullptr;
}

/// Adds d(output)/d(leaf) to the gradient of every leaf that requires one. Without `gradient` the
/// output must be a scalar. Frees the graph as it goes; a second call on it throws Error.
void backward(const Tensor& output, const Tensor& gradient = {});

/// Runs `forward` without keeping what it computes inside, and runs it again during backward
/// (activation checkpointing): memory for time. Randomness inside must not depend on call order,
/// which holds for RandomStream, and for modules that number their calls with call_number()
/// (autograd/mode.h).
Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>&)>& forward,
                  const std::vector<Tensor>& inputs);

}  // namespace fovea::autograd
