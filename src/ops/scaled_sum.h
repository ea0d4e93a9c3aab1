// Running sums of feature maps.
#pragma once

#include "tensor/tensor.h"

namespace fovea::ops {

/// y = u + w x with one weight for every plane: u and x (b, c, spatial...), w (b, c) in the compute
/// type of x. u may be undefined, which is zero. One pass over memory; backward keeps x and w, uses
/// dy as the gradient of u and adds to that of x in place. Counts a multiply-add an element. kcla
/// Eq. 8. Throws ShapeError for shapes or types that do not fit.
Tensor scaled_sum(const Tensor& u, const Tensor& w, const Tensor& x);

}  // namespace fovea::ops
