#include "training/gradient_sum.h"

#include <utility>

#include "backend/backend.h"

namespace fovea::training {

void GradientSum::add() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor;
    Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    parameter.set_grad({});
    if (sums_[i].defined()) {
      backend(gradient).axpy(1.0, gradient, sums_[i]);
    } else {
      sums_[i] = std::move(gradient);
    }
  }
}

void GradientSum::finish() {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    parameters_[i].tensor.set_grad(std::exchange(sums_[i], {}));
}

}  // namespace fovea::training
