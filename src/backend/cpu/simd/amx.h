// Matrix products on the tile registers of recent Intel processors (AMX), which multiply bfloat16
// numbers and add in float32, some sixteen times as fast as vectors multiply float32.
//
// bfloat16 operands are used as they are. A float32 operand is split into three bfloat16 numbers
// that together hold its 24 bits, x = x0 + x1 + x2 with |x1| < 2^-8 |x0|, |x2| < 2^-16 |x0|. Of the
// nine partial products the six down to 2^-16 are added, so what is left out is of the size of a
// float32 rounding of each product: measured, the results are more exact than those of a chain of
// float32 multiply-adds.
//
// The range of this: tiles count subnormal numbers as zero, so the parts of an operand below 2^-102
// (2e-31) and the partial products of a product below 2^-110 (1e-33) lose bits. The error of a term
// a b is then up to 2^-123 + 2^-125 (|a| + |b|). Infinities, NaN and numbers of kAmxLimit and more
// cannot be split: gemm_amx.cpp looks for them while it packs, and another kernel computes such a
// product. bfloat16 operands are used whole and have no such limits.
#pragma once

#include <cstdint>

#include "backend/cpu/simd/simd.h"
#include "tensor/dtype.h"

namespace fovea::cpu::simd {

/// Rows of a or columns of b in a panel, and the stretch of the inner axis in one step of it.
inline constexpr std::int64_t kPanel = 32;

/// From here on float32 numbers round to infinity in bfloat16.
inline constexpr float kAmxLimit = 0x1.ffp127F;

/// Elements of a packed panel with a depth of `steps` times 32.
inline constexpr std::int64_t amx_panel_size(std::int64_t steps, std::int64_t parts) {
  return steps * parts * kPanel * kPanel;
}

/// Of an operand stored as S. `outer` is the axis of the result (rows of a, columns of b), `inner`
/// the one that is summed over.
template <class S>
struct AmxPanel {
  const S* x;
  std::int64_t ld;            // elements between two rows as stored
  bool inner_contiguous;      // or else the outer axis is
  std::int64_t outer, inner;  // how many there are: outer <= kPanel; the rest are zeros
};

/// Where a block of sums (kPanel, kPanel) goes: c = sums + bias + c, the last two if asked for.
template <class C>
struct AmxResult {
  C* c;
  std::int64_t ldc;
  std::int64_t rows, columns;  // <= kPanel
  const float* bias;           // (columns) or null
  bool accumulate;
  bool past_caches;  // c is written to memory at once: whole lines, aligned, and no c to add to
};

/// Where multiply() reads the rows of a: 16 of them are a tile. Packed, or bfloat16 rows in place.
struct AmxRows {
  const BFloat16* x = nullptr;
  std::int64_t row = kPanel;        // elements between two rows
  std::int64_t tile = 16 * kPanel;  // between two tiles
  std::int64_t step = 0;            // between two steps of the inner axis
};

template <class S>
struct AmxKernels {
  /// bfloat16 numbers that an element becomes.
  std::int64_t parts;
  /// False if the panel has a number that cannot be split: one that is not finite or not below
  /// kAmxLimit. (bfloat16 numbers need no split.)
  bool (*pack)(bool left, const AmxPanel<S>&, std::int64_t steps, BFloat16* to);
  /// sums (kPanel, kPanel), 64-byte aligned; only the first 16 rows or columns if there are no
  /// more.
  void (*multiply)(const AmxRows& left, const BFloat16* right, std::int64_t steps, bool short_rows,
                   bool short_columns, float* sums);
};

struct AmxTable {
  AmxKernels<float> f32;
  AmxKernels<BFloat16> bf16;
  /// As the loop `product` of simd.h with a and b rounded to bfloat16: for operands converted from
  /// bfloat16, and maps between them. Each is contiguous along one of its axes.
  void (*product)(const Product<float>&);
  void (*finish_f32)(const float* sums, const AmxResult<float>&);
  void (*finish_bf16)(const float* sums, const AmxResult<BFloat16>&);
  /// Multiply-adds of bfloat16 in registers alone, as many as are returned.
  std::int64_t (*multiply_adds)(std::int64_t turns);
  /// Around all calls of multiply() and multiply_adds() in a thread.
  void (*begin)();
  void (*end)();

  template <class S>
  const AmxKernels<S>& of() const {
    if constexpr (std::is_same_v<S, float>) {
      return f32;
    } else {
      return bf16;
    }
  }
};

/// Null where the processor or the operating system does not support tile registers, or FOVEA_SIMD
/// excludes them.
const AmxTable* amx();

/// Defined in amx_kernels.cpp, for amx() alone.
AmxTable amx_table();
/// Defined in amx_product.cpp, for the table alone.
void amx_product(const Product<float>&);

}  // namespace fovea::cpu::simd
