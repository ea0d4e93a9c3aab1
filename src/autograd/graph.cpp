#include "autograd/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "autograd/finite.h"
#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/backend.h"

namespace fovea::autograd {
namespace {

Tensor clone(const Tensor& x) {
  Tensor y = Tensor::empty_like(x);
  backend(x).cast(x, y);
  return y;
}

// sum += gradient, in place if no other tensor shares its memory.
void accumulate(Tensor& sum, Tensor gradient) {
  if (!sum.defined()) {
    sum = std::move(gradient);
    return;
  }
  if (!sum.unique_storage()) sum = clone(sum);
  backend(sum).axpy(1.0, gradient, sum);
}

// Where the gradient of a result is summed.
Tensor& gradient_of(const Tensor& result) {
  Node& node = *result.node();
  FOVEA_CHECK(!node.done, Error,
              fmt::format("backward: {} was already differentiated and its memory freed; build the "
                          "graph again",
                          node.op));
  return node.gradients[static_cast<std::size_t>(result.result_number())];
}

// Nodes reachable from `root`, inputs before outputs. The handles keep nodes alive while their
// tensors are freed one by one.
std::vector<std::shared_ptr<Node>> topological_order(const std::shared_ptr<Node>& root) {
  std::vector<std::shared_ptr<Node>> order;
  std::unordered_set<const Node*> seen{root.get()};
  std::vector<std::pair<std::shared_ptr<Node>, std::size_t>> stack{{root, 0}};
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == node->inputs.size()) {
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    const Tensor& input = node->inputs[next++];
    if (!input.defined() || !input.node()) continue;
    if (seen.insert(input.node().get()).second) stack.emplace_back(input.node(), 0);
  }
  return order;
}

// The role of a watched value in its operation.
std::string role(const Node& node, const Watched& watched) {
  if (watched.input == Watched::kResult) return "its result";
  if (watched.input == Watched::kRead) return "a value that it read";
  if (node.inputs.size() == 1) return "its input";
  return fmt::format("its input {} of {}", watched.input + 1, node.inputs.size());
}

void check_unchanged(const Node& node) {
  for (const Watched& watched : node.kept) {
    const Tensor& value = watched.value;
    FOVEA_CHECK(
        value.version() == watched.version, Error,
        fmt::format("backward: {}{}{} needs {}, {} {}, as it was; it was changed since by {}; call "
                    "backward() before that, or change a copy",
                    node.module, node.module.empty() ? "" : " ", node.op, role(node, watched),
                    name_of(value.dtype()), to_string(value.shape()), value.writer()));
  }
}

void check_reached(const Node& node) {
  for (const Tensor& input : node.inputs) {
    if (!input.defined() || !input.requires_grad()) continue;
    const Tensor reached = input.node() ? gradient_of(input) : input.grad();
    if (reached.defined()) check_finite(reached, node.op, node.module, "gradient (backward)");
  }
}

// What a node's backward pass computes and moves, before it runs.
Event cost_of(const Node& node, const std::vector<Tensor>& gradients) {
  Event event{.op = node.op, .module = node.module, .backward = true, .macs = node.backward_macs};
  if (node.moved == Moved::kNothing || node.moved == Moved::kForward) return event;
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    event.dtype = gradient.dtype();
    event.read_bytes += gradient.bytes();
  }
  if (node.moved == Moved::kPart) event.written_bytes = event.read_bytes;
  event.read_bytes += node.remade_bytes;
  for (const Watched& watched : node.kept) event.read_bytes += watched.value.bytes();
  if (node.moved == Moved::kPart) return event;
  for (const Tensor& input : node.inputs) {
    if (input.defined()) event.written_bytes += input.bytes();
  }
  return event;
}

void run_node(Node& node) {
  node.done = true;
  std::vector<Tensor> gradients = std::move(node.gradients);
  const auto reached = std::find_if(gradients.begin(), gradients.end(),
                                    [](const Tensor& gradient) { return gradient.defined(); });
  if (reached != gradients.end()) {
    check_unchanged(node);
    Profiler* const profiler = mode().profiler;
    std::optional<Event> event;
    if (profiler != nullptr) event = cost_of(node, gradients);
    // From here on the closure alone holds what it reads, and may let go of it. (Whoever reads the
    // result has run.)
    node.kept.clear();
    node.remake.reset();
    const Device device = reached->device();
    const Moment start = moment_on(device);
    Gradients inputs(node.inputs);
    node.backward(std::move(gradients), inputs);
    if (event) profiler->add(*std::move(event), device, start);
    if (mode().detect_anomaly) check_reached(node);
  }
  node.backward = nullptr;
  node.remake.reset();
  node.kept.clear();
  node.inputs.clear();
  node.leaves.clear();
}

// Says which leaves no node will add to any more.
class LeafCount {
 public:
  using Reached = std::function<void(const Tensor& leaf)>;
  LeafCount(const std::vector<std::shared_ptr<Node>>& order, const Reached* reached)
      : reached_(reached) {
    if (reached_ == nullptr) return;
    for (const auto& node : order) {
      for (const Tensor& leaf : leaves_of(*node)) ++left_[leaf.id()];
    }
  }
  // Asked before the node runs, which forgets them then.
  std::vector<Tensor> of(const Node& node) const {
    return reached_ != nullptr ? leaves_of(node) : std::vector<Tensor>();
  }
  void ran(const std::vector<Tensor>& leaves) {
    for (const Tensor& leaf : leaves) {
      if (--left_[leaf.id()] == 0) (*reached_)(leaf);
    }
  }

 private:
  static std::vector<Tensor> leaves_of(const Node& node) {
    std::vector<Tensor> leaves = node.leaves;
    for (const Tensor& input : node.inputs) {
      if (input.defined() && !input.node()) leaves.push_back(input);
    }
    return leaves;
  }

  const Reached* reached_;
  std::unordered_map<const void*, std::int64_t> left_;  // nodes that reach each leaf, by its id
};

}  // namespace

void check_finite(const Tensor& value, const char* op, const std::string& module,
                  const char* what) {
  if (!is_floating(value.dtype()) || are_finite({value})) return;
  throw NumericError(fmt::format("first non-finite value: {}{}{} {}", module,
                                 module.empty() ? "" : " ", op, what));
}

Tensor Gradients::empty(int input) const {
  return wanted(input) ? Tensor::empty_like(at(input)) : Tensor();
}

void Gradients::add(int input, Tensor gradient) {
  if (!wanted(input)) return;
  const Tensor& target = at(input);
  FOVEA_CHECK(
      gradient.shape() == target.shape() && gradient.dtype() == target.dtype(), ShapeError,
      fmt::format("backward: gradient is {} {}, its tensor {} {}", name_of(gradient.dtype()),
                  to_string(gradient.shape()), name_of(target.dtype()), to_string(target.shape())));
  gradient = gradient.requires_grad() ? gradient.detach() : std::move(gradient);
  if (target.node()) {
    accumulate(gradient_of(target), std::move(gradient));
    return;
  }
  // A leaf keeps its gradient, and optimisers scale it in place: it must not be shared.
  Tensor sum = target.grad();
  target.set_grad({});
  if (!sum.defined() && !gradient.unique_storage()) gradient = clone(gradient);
  accumulate(sum, std::move(gradient));
  target.set_grad(sum);
}

bool Gradients::begun(int input) const {
  const Tensor& target = at(input);
  return (target.node() ? gradient_of(target) : target.grad()).defined();
}

Tensor Gradients::buffer(int input) {
  const Tensor& target = at(input);
  Tensor sum = target.node() ? std::exchange(gradient_of(target), {}) : target.grad();
  if (!target.node()) target.set_grad({});
  if (!sum.defined()) {
    sum = Tensor::empty_like(target);
    backend(sum).fill(sum, 0.0);
  } else if (!sum.unique_storage()) {
    sum = clone(sum);
  }
  if (target.node()) {
    gradient_of(target) = sum;
  } else {
    target.set_grad(sum);
  }
  return sum;
}

void backward(const Tensor& output, const Tensor& gradient) {
  FOVEA_CHECK(output.requires_grad(), Error,
              "backward: the output does not depend on any parameter");
  Tensor seed = gradient;
  if (!seed.defined()) {
    FOVEA_CHECK(output.numel() == 1, ShapeError,
                fmt::format("backward: output is {}, expected a scalar or a gradient of that shape",
                            to_string(output.shape())));
    seed = Tensor::empty_like(output);
    backend(seed).fill(seed, 1.0);
  }
  const NoGrad no_grad;
  const std::vector<Tensor> root{output};
  Gradients(root).add(0, std::move(seed));
  if (!output.node()) return;
  std::vector<std::shared_ptr<Node>> order = topological_order(output.node());
  LeafCount leaf_count(order, mode().reached);
  const Scope inner(mode().reached, decltype(mode().reached){});  // of a part that is run again
  while (!order.empty()) {
    const std::vector<Tensor> leaves = leaf_count.of(*order.back());
    run_node(*order.back());
    order.pop_back();
    leaf_count.ran(leaves);
  }
}

}  // namespace fovea::autograd
