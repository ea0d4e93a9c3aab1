#include "ops/in_place.h"

#include <fmt/format.h>

#include "autograd/mode.h"
#include "backend/backend.h"
#include "base/error.h"
#include "ops/elementwise.h"

namespace fovea::ops {

bool is_spent(const Tensor& x) { return x.unique_storage() && !x.requires_grad(); }

void fill(const Tensor& y, double value) {
  backend(y).fill(y, value);
  y.written("fill");
}

void copy_into(const Tensor& from, const Tensor& to) {
  FOVEA_CHECK(from.shape() == to.shape(), ShapeError,
              fmt::format("copy_into: from {} to {}; expected equal shapes",
                          to_string(from.shape()), to_string(to.shape())));
  const autograd::NoGrad no_grad;
  backend(to).cast(ops::to(from, to.device()), to);
  to.written("copy_into");
}

}  // namespace fovea::ops
