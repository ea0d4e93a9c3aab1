// In place of convolution.cpp where cuDNN was not there when Fovea was built.
#include "backend/gpu/cuda/convolution.h"

namespace fovea::gpu {

struct CudaConvolution::State {};

CudaConvolution::CudaConvolution(bool) {}
CudaConvolution::~CudaConvolution() = default;

bool CudaConvolution::there() const { return false; }

std::string CudaConvolution::missing() {
  return "convolutions are slower: Fovea was built without cuDNN (cudnn.h)";
}

bool CudaConvolution::run(ConvResult, const ConvArgs&, const Tensor&, const Tensor&, const Tensor&,
                          cudaStream_t) {
  return false;
}

}  // namespace fovea::gpu
