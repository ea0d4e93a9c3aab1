#define FOVEA_SIMD_NAME "avx512"
#define FOVEA_SIMD_TABLE avx512_kernels
#include "backend/cpu/simd/kernels_impl.h"
