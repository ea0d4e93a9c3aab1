// Tensor cores for kernels/warp_tile.h: instructions of PTX that the 32 lanes of a warp run
// together (PTX ISA, "Warp-level matrix instructions"; from compute capability 8.0 on).
#pragma once

#include "backend/gpu/kernels/cuda.h"

#define TENSOR_CORES

namespace fovea::gpu {

/// Four 8 x 8 matrices of 16 bits in shared memory: lane l points at row l % 8 of matrix l / 8, 16
/// bytes at a multiple of 16. It gets elements 2 (l % 4) and the next one of row l / 4 of matrix i
/// as fragment[i].
FUNCTION void load_matrices(const void* row, Word* fragment) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(static_cast<Word>(__cvta_generic_to_shared(row)))
               : "memory");
}
/// The same of the matrices' columns: element l / 4 of rows 2 (l % 4) and the next one.
FUNCTION void load_transposed_matrices(const void* row, Word* fragment) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(static_cast<Word>(__cvta_generic_to_shared(row)))
               : "memory");
}

/// sums (16, 8) += a (16, 16) b (16, 8).
FUNCTION void multiply_add_bfloat16(const Word* a, Word b0, Word b1, float* sums) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// To nearest, the ten bits of mantissa that TF32 has.
FUNCTION Word tf32_of_float(float value) {
  Word bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}
/// sums (16, 8) += a (16, 8) b (8, 8).
FUNCTION void multiply_add_tf32(const Word* a, Word b0, Word b1, float* sums) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace fovea::gpu
