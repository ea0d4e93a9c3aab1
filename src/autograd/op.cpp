// An operation being executed and recorded (autograd/graph.h).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/finite.h"
#include "autograd/graph.h"
#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/backend.h"

namespace fovea::autograd {
namespace {

// Frees nodes one after another. A node holds the nodes before it in its inputs, and perhaps in its
// closure: freeing them recursively would need stack for the length of the graph.
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

// Of tensors that are there, each once.
std::int64_t bytes_of(std::span<const Tensor> tensors) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto before = tensors.first(i);
    const bool seen = std::any_of(before.begin(), before.end(), [&](const Tensor& other) {
      return other.defined() && other.id() == tensors[i].id();
    });
    if (tensors[i].defined() && !seen) bytes += tensors[i].bytes();
  }
  return bytes;
}

}  // namespace

Op::Op(const char* name, std::initializer_list<Tensor> inputs)
    : Op(name, std::vector<Tensor>(inputs)) {}

Op::Op(const char* name, std::vector<Tensor> inputs) : name_(name), inputs_(std::move(inputs)) {
  const Tensor* first = nullptr;
  std::vector<Tensor>* leaves = mode().leaves;
  for (const Tensor& input : inputs_) {
    if (!input.defined()) continue;
    if (first == nullptr) first = &input;
    FOVEA_CHECK(input.device() == first->device(), BackendError,
                fmt::format("{}: inputs are on devices {} and {}; expected one device", name_,
                            first->device().name(), input.device().name()));
    if (!input.requires_grad()) continue;
    records_ = true;
    if (leaves != nullptr && !input.node()) leaves->push_back(input);
  }
  records_ = records_ && mode().grad;
  if (first != nullptr) start_ = moment_on(first->device());
}

void Op::force_recording() { records_ = mode().grad; }

Tensor Op::watch(const Tensor& x, int input) {
  if (!records_ || !x.defined()) return {};
  if (kept_.empty()) kept_.reserve(inputs_.size() + 1);
  kept_.push_back({x.detach(), x.version(), input});
  return kept_.back().value;
}

Tensor Op::keep(const Tensor& x, bool needed) {
  if (!needed || !x.defined()) return {};
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].id() == x.id()) return watch(x, static_cast<int>(i));
  }
  return watch(x, Watched::kRead);
}

Tensor Op::keep_result(const Tensor& y) { return watch(y, Watched::kResult); }

Kept Op::keep_or_remake(const Tensor& x, bool needed, RemakeCost most) {
  if (!needed || !records_) return {};
  std::shared_ptr<Remake> remake = remake_of(x, most);
  if (remake == nullptr || remake->in_a_row == Remake::kMostInARow) return Kept(keep(x));
  remade_bytes_ += x.bytes();
  asked_in_a_row_ = std::max(asked_in_a_row_, remake->in_a_row);
  return Kept(std::move(remake));
}

void Op::remake(std::function<Tensor()> make, RemakeCost cost) {
  if (!records_) return;
  remake_ = std::make_shared<Remake>(Remake{.make = std::move(make),
                                            .cost = cost,
                                            .in_a_row = asked_in_a_row_ + 1,
                                            .version = 0,
                                            .made = {}});
}

Tensor Op::output(Tensor result, Backward backward) {
  report({&result, 1});
  if (!records_ || !backward) return result;
  if (remake_ != nullptr) remake_->version = result.version();
  record({&result, 1},
         [of_one = std::move(backward)](std::vector<Tensor> gradients, Gradients& in) {
           of_one(gradients.front(), in);
         });
  return result;
}

std::vector<Tensor> Op::outputs(std::vector<Tensor> results, BackwardOfAll backward) {
  report(results);
  if (records_ && backward) record(results, std::move(backward));
  return results;
}

void Op::report(std::span<const Tensor> results) {
  if (Profiler* profiler = mode().profiler) {
    const Tensor& result = results.front();
    const bool given = !inputs_.empty() && inputs_.front().defined();
    // (The same handle is an input that was written over.)
    const bool alias =
        given && result.same_storage(inputs_.front()) && result.id() != inputs_.front().id();
    if (alias) moved_ = Moved::kNothing;
    Event event{.op = name_,
                .module = module_path(),
                .macs = macs_,
                .dtype = result.dtype(),
                .output = result.shape(),
                .input = given ? inputs_.front().shape() : Shape{}};
    if (moved_ != Moved::kNothing) {
      event.read_bytes = bytes_of(inputs_);
      event.written_bytes = bytes_of(results);
    }
    if (moved_ == Moved::kPart) event.read_bytes += result.bytes() - inputs_.front().bytes();
    profiler->add(std::move(event), result.device(), start_);
  }
  if (!mode().detect_anomaly) return;
  for (const Tensor& result : results)
    check_finite(result, name_, module_path(), "output (forward)");
}

void Op::record(std::span<const Tensor> results, BackwardOfAll backward) {
  const bool observed = mode().profiler != nullptr || mode().detect_anomaly;
  const std::shared_ptr<Node> node(new Node, free_node);
  node->op = name_;
  // A product of two operands has a product for the gradient of each.
  const auto wants = [&](std::size_t i) {
    return inputs_[i].defined() && inputs_[i].requires_grad();
  };
  const bool both = inputs_.size() < 2 || (wants(0) && wants(1));
  node->backward_macs = backward_macs_.value_or((both ? 2 : 1) * macs_);
  node->remade_bytes = remade_bytes_;
  node->moved = moved_;
  if (observed) node->module = module_path();
  node->inputs.reserve(inputs_.size());
  for (Tensor& input : inputs_) {
    const bool wanted = input.defined() && input.requires_grad();
    // Values that backward needs are in its closure; the others are free to go.
    node->inputs.push_back(!wanted ? Tensor() : input.node() ? input.without_values() : input);
  }
  node->leaves = std::move(leaves_);
  node->kept = std::move(kept_);
  node->backward = std::move(backward);
  node->remake = std::move(remake_);
  node->gradients.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].set_node(node, static_cast<int>(i));
  }
}

void count_macs(const char* op, std::int64_t macs) {
  if (Profiler* profiler = mode().profiler) {
    profiler->add({.op = op, .module = module_path(), .macs = macs});
  }
}

std::shared_ptr<Remake> remake_of(const Tensor& x, RemakeCost most) {
  if (!x.defined() || !x.node()) return nullptr;
  const std::shared_ptr<Remake>& remake = x.node()->remake;
  const bool fits = remake != nullptr && remake->version == x.version() && remake->cost <= most;
  return fits ? remake : nullptr;
}

}  // namespace fovea::autograd
