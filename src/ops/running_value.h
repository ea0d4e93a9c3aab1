// Layer attention over a running sum of feature maps. kcla 2.9.
#pragma once

#include "ops/norm.h"

namespace fovea::ops {

struct RunningValue {
  Tensor sum;  // u: what the next layer adds to
  Tensor y;
};

struct RunningValueOptions {
  bool relu = true;
  bool add_x = true;
  Tensor keep;  // (b, c), weights of drop path; undefined: 1. It has no gradient.
};

/// One layer: x enters the sum with the weight w, and the depthwise 3x3 convolution (zeros around
/// the map) of the sum is normed and, if asked for, added to x:
///   u = before + w x,  y = x + keep act(batch_norm(scale conv3x3(u, kernel)))
/// x, before and the results: (b, c, h, w); before may be undefined, which is zero. In the compute
/// type of x: kernel (c, 1, 3, 3) and, of every plane, w and scale (b, c). Backward keeps u and x.
/// Counts ten multiply-adds an element. kcla Eq. 8-11. Throws ShapeError for shapes or types that
/// do not fit.
RunningValue running_value(const BatchNorm& norm, const RunningValueOptions& options,
                           const Tensor& before, const Tensor& w, const Tensor& x,
                           const Tensor& kernel, const Tensor& scale);

}  // namespace fovea::ops
