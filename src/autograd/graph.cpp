#include "autograd/graph.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/backend.h"

namespace fovea::autograd {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Tensor clone(const Tensor& x) {
  Tensor y = Tensor::empty_like(x);
  backend(x).cast(x, y);
  return y;
}

// sum += gradient, in place if nobody else can see sum.
void accumulate(Tensor& sum, Tensor gradient) {
  if (!sum.defined()) {
    sum = std::move(gradient);
    return;
  }
  if (!sum.unique_storage()) sum = clone(sum);
  backend(sum).axpy(1.0, gradient, sum);
}

void check_finite(const Tensor& value, const char* op, const std::string& module,
                  const char* what) {
  if (!is_floating(value.dtype()) || backend(value).all_finite(value)) return;
  throw NumericError(fmt::format("first non-finite value: {}{}{} {}", module,
                                 module.empty() ? "" : " ", op, what));
}

// Frees nodes one after another. A node holds the nodes before it, in its inputs and in its
// closure: each freeing the next from within would need stack for the whole length of the graph.
void free_node(Node* node) noexcept {
  thread_local Node* waiting = nullptr;
  thread_local bool freeing = false;
  node->next = waiting;
  waiting = node;
  if (freeing) return;
  freeing = true;
  while (waiting != nullptr) {
    Node* first = waiting;
    waiting = first->next;
    delete first;
  }
  freeing = false;
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

void run_node(Node& node) {
  FOVEA_CHECK(!node.done, Error,
              fmt::format("backward: {} was already differentiated and its memory freed; build the "
                          "graph again",
                          node.op));
  const Tensor gradient = std::exchange(node.gradient, {});
  if (gradient.defined() || node.called) {
    const auto start = Clock::now();
    Gradients inputs(node.inputs);
    node.backward(gradient, inputs);
    if (Profiler* profiler = mode().profiler) {
      profiler->add({node.op, node.module, true, 2 * node.macs, seconds_since(start), 0, {}, {}});
    }
    if (mode().detect_anomaly) {
      for (const Tensor& input : node.inputs) {
        if (!input.defined() || !input.requires_grad()) continue;
        const Tensor& reached = input.node() ? input.node()->gradient : input.grad();
        if (reached.defined()) check_finite(reached, node.op, node.module, "gradient (backward)");
      }
    }
  }
  node.backward = nullptr;
  node.recipe.reset();
  node.inputs.clear();
  node.done = true;
}

}  // namespace

void Gradients::add(int input, Tensor gradient) {
  if (!wanted(input)) return;
  const Tensor& target = at(input);
  FOVEA_CHECK(
      gradient.shape() == target.shape() && gradient.dtype() == target.dtype(), ShapeError,
      fmt::format("backward: gradient is {} {}, its tensor {} {}", name_of(gradient.dtype()),
                  to_string(gradient.shape()), name_of(target.dtype()), to_string(target.shape())));
  gradient = gradient.requires_grad() ? gradient.detach() : std::move(gradient);
  if (target.node()) {
    accumulate(target.node()->gradient, std::move(gradient));
    return;
  }
  // A leaf keeps its gradient, and optimisers scale it in place: it must not be shared.
  Tensor sum = target.grad();
  target.set_grad({});
  if (!sum.defined() && !gradient.unique_storage()) gradient = clone(gradient);
  accumulate(sum, std::move(gradient));
  target.set_grad(sum);
}

Tensor Gradients::buffer(int input) {
  const Tensor& target = at(input);
  Tensor sum = target.node() ? std::exchange(target.node()->gradient, {}) : target.grad();
  if (!target.node()) target.set_grad({});
  if (!sum.defined()) {
    sum = Tensor::empty_like(target);
    backend(sum).fill(sum, 0.0);
  } else if (!sum.unique_storage()) {
    sum = clone(sum);
  }
  if (target.node()) {
    target.node()->gradient = sum;
  } else {
    target.set_grad(sum);
  }
  return sum;
}

void Gradients::call(int input) {
  if (wanted(input) && at(input).node()) at(input).node()->called = true;
}

Op::Op(const char* name, std::initializer_list<Tensor> inputs)
    : Op(name, std::vector<Tensor>(inputs)) {}

Op::Op(const char* name, std::vector<Tensor> inputs)
    : name_(name), inputs_(std::move(inputs)), start_(Clock::now()) {
  const Tensor* first = nullptr;
  for (const Tensor& input : inputs_) {
    if (!input.defined()) continue;
    if (first == nullptr) first = &input;
    FOVEA_CHECK(input.device() == first->device(), BackendError,
                fmt::format("{}: inputs are on devices {} and {}; expected one device", name_,
                            first->device().name(), input.device().name()));
    records_ = records_ || input.requires_grad();
  }
  records_ = records_ && mode().grad;
}

void Op::force_recording() { records_ = mode().grad; }

Tensor Op::output(Tensor result, Backward backward) {
  const bool observed = mode().profiler != nullptr || mode().detect_anomaly;
  if (Profiler* profiler = mode().profiler) {
    const bool given = !inputs_.empty() && inputs_.front().defined();
    profiler->add({name_, module_path(), false, macs_, seconds_since(start_), result.bytes(),
                   result.shape(), given ? inputs_.front().shape() : Shape{}});
  }
  if (mode().detect_anomaly) check_finite(result, name_, module_path(), "output (forward)");
  if (records_ && backward) {
    const std::shared_ptr<Node> node(new Node, free_node);
    node->op = name_;
    node->macs = macs_;
    if (observed) node->module = module_path();
    for (Tensor& input : inputs_) {
      const bool wanted = input.defined() && input.requires_grad();
      // Values that backward needs are in its closure; the others are free to go.
      node->inputs.push_back(!wanted ? Tensor() : input.node() ? input.without_values() : input);
    }
    node->backward = std::move(backward);
    node->recipe = std::move(recipe_);
    result.set_node(node);
  }
  return result;
}

void count_macs(const char* op, std::int64_t macs) {
  if (Profiler* profiler = mode().profiler) {
    profiler->add({op, module_path(), false, macs, 0, 0, {}, {}});
  }
}

Tensor side_result(const Tensor& main, Tensor value, std::shared_ptr<Tensor> gradient) {
  Op op("side_result", {main});
  return op.output(std::move(value), [gradient](const Tensor& dvalue, Gradients& in) {
    *gradient = dvalue;
    in.call(0);
  });
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
  if (!output.node()) {
    const std::vector<Tensor> leaf{output};
    Gradients(leaf).add(0, std::move(seed));
    return;
  }
  const std::vector<Tensor> root{output};
  Gradients(root).add(0, std::move(seed));
  std::vector<std::shared_ptr<Node>> order = topological_order(output.node());
  while (!order.empty()) {
    run_node(*order.back());
    order.pop_back();
  }
}

Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>&)>& forward,
                  const std::vector<Tensor>& inputs) {
  Op op("checkpoint", inputs);
  op.force_recording();
  Tensor result;
  CallNumbers numbers;
  {
    const NoGrad no_grad;
    const CallNumbers::Recording recording(numbers);
    result = forward(inputs).detach();
  }
  return op.output(result, [forward, inputs, numbers](const Tensor& gradient, Gradients& in) {
    const EnableGrad enable;
    std::vector<Tensor> leaves;
    for (const Tensor& input : inputs) {
      Tensor leaf = input.defined() ? input.detach() : Tensor();
      if (input.defined() && input.requires_grad()) leaf.set_requires_grad(true);
      leaves.push_back(std::move(leaf));
    }
    Tensor again;
    {
      const CallNumbers::Replay replay(numbers);
      again = forward(leaves);
    }
    if (again.requires_grad()) backward(again, gradient);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].defined() || !leaves[i].requires_grad()) continue;
      const Tensor leaf_gradient = leaves[i].grad();
      if (leaf_gradient.defined()) in.add(static_cast<int>(i), leaf_gradient);
    }
  });
}

}  // namespace fovea::autograd
