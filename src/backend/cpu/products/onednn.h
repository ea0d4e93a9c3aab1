// Matrix products and convolutions of oneDNN, each call in the calling thread alone. Where oneDNN
// was not built in, available() is false and nothing else may be called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace fovea::cpu::onednn {

/// True if oneDNN was built in and has fast kernels for this processor (AVX-512).
bool available();
/// True if the processor multiplies bfloat16 matrices in hardware (AVX-512 BF16 or AMX).
bool fast_bfloat16();
/// "oneDNN 2.6.3", or empty.
std::string version();

/// c (m, n) = op(a) op(b) + bias, or c += op(a) op(b). a and b are both float32 or both bfloat16;
/// c may be either where they are bfloat16. bias (n, float32) may be null; sums are float32.
struct Gemm {
  DType operands = DType::kFloat32, result = DType::kFloat32;
  bool trans_a = false, trans_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
  bool has_bias = false;
  bool operator==(const Gemm&) const = default;
};
void gemm(const Gemm& shape, const void* a, const void* b, const float* bias, void* c);

}  // namespace fovea::cpu::onednn
