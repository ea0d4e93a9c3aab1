#include "autograd/hooks.h"

#include "autograd/graph.h"
#include "backend/backend.h"

namespace fovea::autograd {

Tensor observed(const Tensor& x, std::function<void(const Tensor& gradient)> see) {
  Op op("observed", {x});
  if (!op.records()) return x;
  return op.output(x.alias(x.shape()), [see = std::move(see)](const Tensor& dy, Gradients& in) {
    see(dy);
    in.add(0, dy.alias(dy.shape()));
  });
}

Tensor with_scaled_gradient(const Tensor& x, double factor) {
  if (factor == 1 || !x.defined()) return x;
  if (factor == 0) return x.detach();
  Op op("scaled_gradient", {x});
  if (!op.records()) return x;
  return op.output(x.alias(x.shape()), [factor](const Tensor& dy, Gradients& in) {
    Tensor dx = Tensor::empty_like(dy);
    backend(dy).unary(UnaryOp::kAffine, {factor, 0}, dy, dx);
    in.add(0, std::move(dx));
  });
}

Tensor hooked(const Tensor& output, const std::string& part) {
  const ModuleHook* hook = mode().hook;
  if (hook == nullptr) return output;
  const ModuleScope scope(part);
  return (*hook)(module_path(), output);
}

}  // namespace fovea::autograd
