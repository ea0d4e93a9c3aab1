// Activation checkpointing (autograd/graph.h).
#include "autograd/graph.h"
#include "autograd/mode.h"

namespace fovea::autograd {

Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>&)>& forward,
                  const std::vector<Tensor>& inputs) {
  Op op("checkpoint", inputs);
  op.force_recording();
  Tensor result;
  CallNumbers numbers;
  std::vector<Tensor> leaves;
  {
    const NoGrad no_grad;
    const CallNumbers::Recording recording(numbers);
    // Inside another checkpoint nothing is recorded: the outer one notes the leaves read here.
    const Scope<std::vector<Tensor>*> noting(mode().leaves, op.records() ? &leaves : mode().leaves);
    result = forward(inputs).detach();
  }
  std::vector<Kept> kept;
  for (const Tensor& input : inputs) kept.push_back(op.keep_or_remake(input));
  for (const Tensor& leaf : leaves) op.keep(leaf);
  op.reaches(std::move(leaves));
  return op.output(result, [forward, kept, numbers](const Tensor& gradient, Gradients& in) {
    const EnableGrad enable;
    std::vector<Tensor> again;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const Tensor value = kept[i].get();
      again.push_back(value.defined() ? value.detach() : Tensor());
      if (in.wanted(static_cast<int>(i))) again.back().set_requires_grad(true);
    }
    Tensor output;
    {
      const CallNumbers::Replay replay(numbers);
      output = forward(again);
    }
    if (output.requires_grad()) backward(output, gradient);
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (again[i].defined() && again[i].grad().defined())
        in.add(static_cast<int>(i), again[i].grad());
    }
  });
}

}  // namespace fovea::autograd
