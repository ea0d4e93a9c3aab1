#define FOVEA_SIMD_NAME "sse2"
#define FOVEA_SIMD_TABLE sse2_kernels
#include "backend/cpu/simd/kernels_impl.h"
