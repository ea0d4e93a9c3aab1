#include "nn/dropout.h"

#include "ops/elementwise.h"

namespace fovea::nn {

Dropout::Dropout(const Build&, double p) : p_(p) {}

Tensor Dropout::forward(const Tensor& x) {
  return training() ? ops::dropout(x, p_, next_random()) : x;
}

DropPath::DropPath(const Build&, double p) : p_(p) {}

Tensor DropPath::forward(const Tensor& x) {
  return training() ? ops::drop_path(x, p_, next_random()) : x;
}

}  // namespace fovea::nn
