// Large matrix products on tile registers (simd/amx.h), divided among threads.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

/// True where multiply_amx() can run and is faster in spite of its packing.
bool amx_is_fast(const GemmArgs& args, DType operands, DType result);

/// As Backend::gemm: a and b both float32 or both bfloat16, c float32, or bfloat16 where they are.
/// False if a float32 operand holds a number that is not finite or not below simd::kAmxLimit: c is
/// then unfinished, and another kernel has to compute it.
[[nodiscard]] bool multiply_amx(ThreadPool& pool, const GemmArgs& args, const Tensor& a,
                                const Tensor& b, const Tensor& bias, const Tensor& c);

}  // namespace fovea::cpu
