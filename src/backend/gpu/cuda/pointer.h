// Tensors as CUDA's libraries want them.
#pragma once

#include "tensor/tensor.h"

namespace fovea::gpu {

/// Where a tensor of the device begins.
inline std::uintptr_t address(const Tensor& tensor) {
  const Buffer at = tensor.buffer();
  return static_cast<std::uintptr_t>(at.memory) + static_cast<std::uintptr_t>(at.offset);
}
inline void* pointer(const Tensor& tensor) { return reinterpret_cast<void*>(address(tensor)); }

}  // namespace fovea::gpu
