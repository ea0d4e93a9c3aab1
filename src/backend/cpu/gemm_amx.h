// Large matrix products on tile registers (simd/amx.h), shared out among threads.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

/// True where multiply_amx() is there and worth its preparations.
bool amx_is_fast(const GemmArgs& args, DType operands, DType result);

/// True if every number of these rows, ld elements apart, can be taken apart into bfloat16 numbers:
/// it is finite and below simd::kAmxLimit.
bool amx_takes(const float* x, std::int64_t ld, std::int64_t rows, std::int64_t n);

/// As Backend::gemm: a and b both float32 or both bfloat16, c float32, or bfloat16 where they are.
/// False if a float32 operand holds what amx_takes() refuses: c is then unfinished, and another
/// kernel has to compute it.
[[nodiscard]] bool multiply_amx(ThreadPool& pool, const GemmArgs& args, const Tensor& a,
                                const Tensor& b, const Tensor& bias, const Tensor& c);

}  // namespace fovea::cpu
