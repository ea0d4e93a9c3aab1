// The words of our kernels in CUDA C++; see opencl.h.
#pragma once

#include <cmath>
#include <cstdint>

#define HAVE_FLOAT64
// Two groups at once on a multiprocessor, at most 128 registers a work item; one of 8 bytes.
#define KERNEL static __global__ void __launch_bounds__(GROUP_SIZE, sizeof(Stored) == 8 ? 1 : 2)
// The same of a kernel that has more to keep: one group at a time.
#define LARGE_KERNEL static __global__ void __launch_bounds__(GROUP_SIZE)
#define GLOBAL
#define LOCAL __shared__ __align__(16)
#define SHARED
#define FUNCTION static __device__ __forceinline__
#define SYNCHRONIZE __syncthreads()
// The value of the work item of the warp whose place differs in the bits of `mask`; all 32 take part.
#define SHUFFLE_XOR(value, mask) __shfl_xor_sync(0xffffffffu, value, mask)
#define UNROLLED _Pragma("unroll")  // a loop over what lies in registers
#define ONE_BY_ONE _Pragma("unroll 1")
// What follows is not loaded before: else the registers run out.
#define NO_EARLIER asm volatile("" ::: "memory")

namespace fovea::gpu {

typedef std::uint32_t Word;
typedef unsigned long long LongWord;
typedef std::uint16_t HalfWord;
typedef std::uint8_t Byte;

}  // namespace fovea::gpu

#define ITEM ((Index)blockIdx.x * GROUP_SIZE + threadIdx.x)
#define GROUP ((Index)blockIdx.x)
#define PLACE ((int)threadIdx.x)

#define FLOAT_OF_BITS(word) __uint_as_float(word)
#define BITS_OF_FLOAT(value) __float_as_uint(value)
#define IS_FINITE(value) isfinite(value)
#define IS_NAN(value) isnan(value)
