// The kernels of bfloat16 again, built with the AVX-512 instruction that rounds to it.
#define FOVEA_SIMD_BFLOAT16 avx512_bfloat16_kernels
#include "backend/cpu/simd/kernels_impl.h"
