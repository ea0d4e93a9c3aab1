// Products of matrices by cuBLASLt.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "backend/args.h"
#include "tensor/tensor.h"

namespace fovea::gpu {

/// The kernel of a shape is chosen once, by the library's heuristics, so that one shape gives the
/// same bits every time. allow_tf32: products of float32 take tensor cores.
class CudaMatmul {
 public:
  explicit CudaMatmul(bool allow_tf32);
  ~CudaMatmul();
  CudaMatmul(const CudaMatmul&) = delete;
  CudaMatmul& operator=(const CudaMatmul&) = delete;

  /// False where the library is not installed.
  bool there() const;
  /// What is slower without the library and where it was looked for; empty where it is installed.
  static std::string missing();

  /// As Backend::gemm, in the order of the stream. False where the library has no kernel for it.
  /// Where c is bfloat16 bias is rounded to it. Throws BackendError.
  bool run(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
           const Tensor& c, cudaStream_t stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fovea::gpu
