// The words of our kernels in OpenCL C 1.2; cuda.h has those of CUDA. Kernels are written in what
// the two have in common: C with these words, functions of mathematics without a suffix, and one
// axis of work items.

#ifdef HAVE_FLOAT64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define KERNEL __kernel void
#define LARGE_KERNEL __kernel void  // which takes more than half of a processor's registers
#define GLOBAL __global
#define LOCAL __local __attribute__((aligned(16)))  // an array of a kernel
#define SHARED __local  // what a pointer to one points to
#define FUNCTION static inline
#define SYNCHRONIZE barrier(CLK_LOCAL_MEM_FENCE)
#define UNROLLED  // drivers' compilers decide how loops are unrolled
#define ONE_BY_ONE
#define NO_EARLIER  // memory is not read ahead of here

typedef long Index;
typedef int Int32;
typedef uint Word;
typedef ulong LongWord;
typedef ushort HalfWord;
typedef uchar Byte;

#define ITEM ((Index)get_global_id(0))
#define GROUP ((Index)get_group_id(0))
#define PLACE ((int)get_local_id(0))

#define FLOAT_OF_BITS(word) as_float(word)
#define BITS_OF_FLOAT(value) as_uint(value)
#define IS_FINITE(value) isfinite(value)
#define IS_NAN(value) isnan(value)
