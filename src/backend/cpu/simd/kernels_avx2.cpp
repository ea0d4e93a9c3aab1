#define FOVEA_SIMD_NAME "avx2"
#define FOVEA_SIMD_TABLE avx2_kernels
#include "backend/cpu/simd/kernels_impl.h"
