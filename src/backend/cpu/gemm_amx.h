// Large matrix products on tile registers (simd/amx.h), shared out among threads.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

/// True where multiply_amx() is there and worth its preparations. alpha is 1 and beta 0 or 1.
bool amx_is_fast(const GemmArgs& args, DType operands, DType result);

/// As Backend::gemm: a and b both float32 or both bfloat16, c float32, or bfloat16 where they are.
void multiply_amx(ThreadPool& pool, const GemmArgs& args, const Tensor& a, const Tensor& b,
                  const Tensor& bias, const Tensor& c);

}  // namespace fovea::cpu
