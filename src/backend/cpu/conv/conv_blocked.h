// Float32 and bfloat16 convolutions through oneDNN: a few items at a time are converted to its
// layouts inside the second-level cache, and their result back to a row-major one.
#pragma once

#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/conv/onednn_conv.h"
#include "backend/cpu/thread_pool.h"
#include "tensor/tensor.h"

namespace fovea::cpu {

/// True if oneDNN was built in and has fast kernels for the pass over x and y stored as `stored`.
bool blocked_is_fast(const ConvGeometry& g, onednn::ConvPass pass, DType stored);

/// S: float or BFloat16. bias may be undefined.
template <class S>
void blocked_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, const Tensor& y);
template <class S>
void blocked_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                           const Tensor& dy, const Tensor& dx);
template <class S>
void blocked_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                             const Tensor& dy, const Tensor& dweight);

}  // namespace fovea::cpu
