// Convolutions of float32 and float64 by the loops of simd/conv_lines_impl.h, for any sizes.
#pragma once

#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

/// bias may be null.
template <class T>
void lines_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                   const T* bias, const Tensor& y);
template <class T>
void lines_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                           const Tensor& dy, const Tensor& dweight);

}  // namespace fovea::cpu
