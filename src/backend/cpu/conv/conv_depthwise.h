// Convolutions with one input channel per group: direct loops over a padded copy of each plane.
#pragma once

#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/thread_pool.h"
#include "tensor/tensor.h"

namespace fovea::cpu {

/// Values are padded, and summed, in the compute type of T. bias may be null.
template <class T>
void depthwise_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                       const Tensor& weight, const Compute<T>* bias, const Tensor& y);
template <class T>
void depthwise_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                             const Tensor& dy, const Tensor& dx);
template <class T>
void depthwise_backward_weight(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                               const Tensor& dy, const Tensor& dweight);

}  // namespace fovea::cpu
