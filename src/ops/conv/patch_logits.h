// The head of a network of patches: from a token to the logits of all places of its patch.
#pragma once

#include "ops/conv/convolution.h"

namespace fovea::ops {

/// Parameters of patch_logits for p places of a patch and k classes; float32 where x is bfloat16.
struct PatchHead {
  Tensor expand;        // (p c, c), rows by place, then channel
  Tensor weight, bias;  // of the layer norm: (c)
  Tensor classes;       // (k, c)
  double eps = 1e-5;
};

/// For every token: a linear layer makes c channels for each place of its patch; a layer norm and a
/// second linear layer make logits of k classes from them. x: (b, grid..., c) on a grid of two or
/// three axes, patch: a size for each -> (b, k, grid x patch...). dformer 3.8. The channels of all
/// places, p times as large as x, are never in memory as a whole: a few tokens are computed at a
/// time. Backward does not need them: it keeps x, the logits and the norm's deviations. Throws
/// ShapeError for sizes that do not fit.
Tensor patch_logits(const Tensor& x, const PatchHead& head, const Sizes& patch);

}  // namespace fovea::ops
