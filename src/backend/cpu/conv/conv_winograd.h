// 3x3 convolutions of stride 1 by Winograd's minimal filtering: a tile of 4 x 4 results from 36
// products a pair of channels, where the definition takes 144. Lavin and Gray, "Fast algorithms for
// convolutional neural networks", CVPR 2016.
#pragma once

#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/thread_pool.h"
#include "tensor/tensor.h"

namespace fovea::cpu {

/// True if the convolution, and so both of its gradients, is of this kind, and has so many channels
/// and tiles that the products outweigh the transforms.
bool winograd_is_fast(const ConvGeometry& g);

/// float32. bias may be null.
void winograd_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                      const Tensor& weight, const float* bias, const Tensor& y);
void winograd_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                            const Tensor& dy, const Tensor& dx);
void winograd_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                              const Tensor& dy, const Tensor& dweight);

}  // namespace fovea::cpu
