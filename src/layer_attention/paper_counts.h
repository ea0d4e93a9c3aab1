// What the code that was counted for the paper does and ours need not.
#pragma once

#include "tensor/tensor.h"

namespace fovea::layer_attention {

/// Tells the profiler that x (b, c, h, w) is pooled `times` more there. Nothing is computed, and
/// only the paper's multiply-adds change (Model::paper_macs). kcla 3.3, 3.6.
void count_pooling(const Tensor& x, std::int64_t times);

}  // namespace fovea::layer_attention
