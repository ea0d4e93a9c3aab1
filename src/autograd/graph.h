// The graph of recorded operations and the walk back through it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/kept.h"
#include "tensor/tensor.h"

namespace fovea::autograd {

/// The gradients an operation hands to its inputs during backward().
class Gradients {
 public:
  explicit Gradients(const std::vector<Tensor>& inputs) : inputs_(inputs) {}
  /// False for inputs that need no gradient: do no work for them.
  bool wanted(int input) const { return at(input).defined() && at(input).requires_grad(); }
  /// Uninitialised memory for the gradient of an input; undefined where none is wanted.
  Tensor empty(int input) const;
  /// Adds to the gradient of an input. Pass temporaries (or std::move) so that it need not be
  /// copied.
  void add(int input, Tensor gradient);
  /// True if an input has a gradient already: kernels that can add to buffer() need no memory of
  /// their own.
  bool begun(int input) const;
  /// The gradient accumulated so far, zero at first, to be added to in place (slices, gathers).
  Tensor buffer(int input);

 private:
  const Tensor& at(int input) const { return inputs_[static_cast<std::size_t>(input)]; }
  const std::vector<Tensor>& inputs_;
};

/// Called once with the gradient of the output. A closure that holds a large value should let go of
/// it after reading it last, before it makes the next gradient.
using Backward = std::function<void(const Tensor& gradient, Gradients& inputs)>;
/// The same for several outputs; gradients of outputs that nothing depends on are undefined, but at
/// least one is defined.
using BackwardOfAll = std::function<void(std::vector<Tensor> gradients, Gradients& inputs)>;

/// What an operation reads of its first input, and backward writes of its gradient: all of it; as
/// many elements as the result has, for slices and lookups; nothing backward, which hands on the
/// gradient that it is given; or nothing at all, where the result is the same memory in another
/// shape.
enum class Moved { kAll, kPart, kForward, kNothing };

struct Node {
  const char* op = "";
  std::string module;              // filled while detecting anomalies or profiling
  std::int64_t backward_macs = 0;  // for the profiler, as the next two
  std::int64_t remade_bytes = 0;   // of inputs that are made again for `backward`
  Moved moved = Moved::kAll;
  std::vector<Tensor> inputs;  // without values, and leaves; undefined where no gradient is wanted
  std::vector<Tensor> leaves;  // others whose gradients `backward` adds to
  std::vector<Watched> kept;   // what `backward` and `remake` read
  BackwardOfAll backward;
  std::shared_ptr<Remake> remake;  // of the only output; or null: it cannot be made again
  std::vector<Tensor> gradients;   // of the outputs, accumulated until the node's turn
  bool done = false;               // backward() has run through this node and freed it
  Node* next = nullptr;            // in the queue of nodes to be freed
};

/// One operation being executed. Typical use, in ops/:
///
///   Tensor relu(const Tensor& x) {
///     Op op("relu", {x});
///     Tensor y = Tensor::empty_like(x);
///     backend(x).unary(UnaryOp::kRelu, {}, x, y);
///     return op.output(y, [x = op.keep(x)](const Tensor& dy, Gradients& in) {
///       in.add(0, relu_backward(x, dy));
///     });
///   }
///
/// What the closure captures stays in memory. Values that it reads go through keep(),
/// keep_result() or keep_or_remake(): backward() throws Error if they were overwritten since
/// (Tensor::written). For shapes alone use Gradients::empty. The class checks that all defined
/// inputs are on one device, measures time for the profiler, and in anomaly mode checks the result.
class Op {
 public:
  Op(const char* name, std::initializer_list<Tensor> inputs);
  Op(const char* name, std::vector<Tensor> inputs);

  /// Multiply-adds of the forward pass, for the profiler. Backward has them once for each of the
  /// first two inputs that wants a gradient, unless it says how many it has.
  void macs(std::int64_t forward, std::optional<std::int64_t> backward = std::nullopt) {
    macs_ = forward;
    backward_macs_ = backward;
  }
  /// For the profiler; kNothing is seen from the result.
  void moves(Moved moved) { moved_ = moved; }
  /// True if backward will be recorded: save values only then.
  bool records() const { return records_; }
  /// Records even though no input needs a gradient (recomputed modules with parameters inside).
  void force_recording();

  /// Leaves that are no inputs, and whose gradients backward adds to all the same (checkpoint).
  void reaches(std::vector<Tensor> leaves) { leaves_ = std::move(leaves); }

  /// A value for backward, usually an input: x outside the graph. Undefined if x is, if nothing is
  /// recorded, or if it is not needed after all.
  Tensor keep(const Tensor& x, bool needed = true);
  /// The same for what the operation computed. (The result itself would keep its own node alive
  /// forever.)
  Tensor keep_result(const Tensor& y);
  /// The same for an input that backward reads once. Where the operation that made it has called
  /// remake() at no more than this cost, this is kept instead of the value, which may be freed.
  Kept keep_or_remake(const Tensor& x, bool needed = true, RemakeCost most = RemakeCost::kPass);
  /// Says how the result of output() is made again, from what this operation keeps anyway. Call it
  /// after keep_or_remake().
  void remake(std::function<Tensor()> make, RemakeCost cost = RemakeCost::kPass);

  /// Finishes the operation. An undefined `backward` marks a result that has no gradient.
  Tensor output(Tensor result, Backward backward);
  /// Finishes an operation with several results.
  std::vector<Tensor> outputs(std::vector<Tensor> results, BackwardOfAll backward);

 private:
  Tensor watch(const Tensor& x, int input);
  void report(std::span<const Tensor> results);
  void record(std::span<const Tensor> results, BackwardOfAll backward);

  const char* name_;
  std::vector<Tensor> inputs_, leaves_;
  std::int64_t macs_ = 0, remade_bytes_ = 0;
  std::optional<std::int64_t> backward_macs_;
  Moved moved_ = Moved::kAll;
  bool records_ = false;
  std::vector<Watched> kept_;
  std::shared_ptr<Remake> remake_;
  int asked_in_a_row_ = 0;  // operations in a row that keep_or_remake() would make again
  Moment start_;
};

/// Multiply-adds that another operation does as part of its own, for the profiler: a factor that
/// was folded into the kernel of a convolution still counts once per element of the map.
void count_macs(const char* op, std::int64_t macs);

/// How the operation that made x makes it again at no more than this cost; null if it cannot, or if
/// x was overwritten.
std::shared_ptr<Remake> remake_of(const Tensor& x, RemakeCost most = RemakeCost::kPass);

/// Adds d(output)/d(leaf) to the gradient of every leaf that requires one. Without `gradient` the
/// output must be a scalar. Frees the graph as it goes; a second call on it throws Error, and so
/// does a value that an operation kept and that was overwritten since.
void backward(const Tensor& output, const Tensor& gradient = {});

/// Runs `forward` without keeping what it computes inside, and runs it again during backward
/// (activation checkpointing): memory for time. Its inputs and the parameters that it reads are
/// kept as an operation keeps its inputs: none may be overwritten before. Randomness inside must
/// not depend on call order, which holds for RandomStream, and for modules that number their calls
/// with call_number() (autograd/mode.h).
Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>&)>& forward,
                  const std::vector<Tensor>& inputs);

}  // namespace fovea::autograd
