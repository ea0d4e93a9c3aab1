// Errors of CUDA's runtime as ours.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/error.h"

namespace fovea::gpu {

inline void check(const char* what, cudaError_t code) {
  FOVEA_CHECK(
      code == cudaSuccess, BackendError,
      fmt::format("cuda: {}: {} ({})", what, cudaGetErrorString(code), cudaGetErrorName(code)));
}

}  // namespace fovea::gpu
