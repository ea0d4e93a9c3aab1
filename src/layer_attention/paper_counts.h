// Operations that the code counted for the paper does, and ours does not need.
#pragma once

#include "tensor/tensor.h"

namespace fovea::layer_attention {

/// Tells the profiler that the paper's code pools x (b, c, h, w) `times` more often. Nothing is
/// computed, and only the paper's multiply-adds change (Model::paper_macs). kcla 3.3, 3.6.
void count_pooling(const Tensor& x, std::int64_t times);

}  // namespace fovea::layer_attention
