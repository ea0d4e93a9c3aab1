// A kernel as it is compiled for each dtype.
#pragma once

#include "tensor/dtype.h"

namespace fovea::gpu {

/// How the kernel of a dtype is launched; nullptr where it is not made for one. tf32: float32's on
/// tensor cores, or that of float32 where there is none.
template <class Launched>
struct KernelByDType {
  Launched float32, tf32, float64, bfloat16, int64, int32, uint8;

  Launched of(DType dtype, bool allow_tf32) const {
    switch (dtype) {
      case DType::kFloat32:
        return allow_tf32 ? tf32 : float32;
      case DType::kFloat64:
        return float64;
      case DType::kBFloat16:
        return bfloat16;
      case DType::kInt64:
        return int64;
      case DType::kInt32:
        return int32;
      case DType::kUint8:
        return uint8;
    }
    return nullptr;
  }
};

}  // namespace fovea::gpu
