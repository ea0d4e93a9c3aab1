// Convolutions with a kernel of one pixel: a product of matrices for every item.
#pragma once

#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/thread_pool.h"
#include "tensor/tensor.h"

namespace fovea::cpu {

/// True for g.pointwise() convolutions whose planes are large enough for one product each.
bool is_large_pointwise(const ConvGeometry& g);

/// bias may be null. bfloat16 needs oneDNN.
template <class T>
void pointwise_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                       const Tensor& weight, const Compute<T>* bias, const Tensor& y);
template <class T>
void pointwise_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                             const Tensor& dy, const Tensor& dx);
template <class T>
void pointwise_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                               const Tensor& dy, const Tensor& dweight);

}  // namespace fovea::cpu
