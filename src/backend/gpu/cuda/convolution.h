// Convolutions by cuDNN.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "backend/gpu/runtime.h"

namespace fovea::gpu {

/// The algorithm of a shape is chosen once, by the library's heuristics, among those that give the
/// same bits every time; allow_tf32: those of float32 take tensor cores.
class CudaConvolution {
 public:
  explicit CudaConvolution(bool allow_tf32);
  ~CudaConvolution();
  CudaConvolution(const CudaConvolution&) = delete;
  CudaConvolution& operator=(const CudaConvolution&) = delete;

  /// False where the library is not installed.
  bool there() const;
  /// As CudaMatmul::missing().
  static std::string missing();

  /// As Runtime::conv, in the order of the stream. False where the library has no such algorithm.
  /// Of bfloat16 maps the weight, or its gradient, is rounded to that. Throws BackendError.
  bool run(ConvResult result, const ConvArgs& args, const Tensor& x, const Tensor& weight,
           const Tensor& y, cudaStream_t stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fovea::gpu
