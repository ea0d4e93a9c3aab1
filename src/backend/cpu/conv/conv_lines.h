// Convolutions of float32 and float64 by the loops of simd/conv_lines_impl.h, for any sizes.
#pragma once

#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

/// bias may be null.
template <class T>
void lines_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                   const T* bias, const Tensor& y);
/// The gradient of x: each remainder of a place by the strides has a convolution of its own over
/// dy. Only where lines_reach_all(): strides are 1, or every remainder is reached by a tap, and
/// some by several.
bool lines_reach_all(const ConvGeometry& g);
template <class T>
void lines_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                         const Tensor& dy, const Tensor& dx);
template <class T>
void lines_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                           const Tensor& dy, const Tensor& dweight);

}  // namespace fovea::cpu
