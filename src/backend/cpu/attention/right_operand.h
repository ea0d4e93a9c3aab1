// Right operands of attention's products, packed once for many of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/pieces.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

/// The right operand b (k, n) of products, which may use its first rows and columns only. How it is
/// packed depends on the kernel: for our register tiles as pack_columns does, ld terms deep; for
/// tile registers row by row, ld elements apart.
template <class C>
struct RightOperand {
  C* data = nullptr;
  std::int64_t ld = 0;
  /// Elements of `data` for any k, n with k n' <= this, n' being n in whole panels.
  static std::int64_t size(std::int64_t k, std::int64_t n) {
    return k * divide_up(n, simd::kPackedColumns) * simd::kPackedColumns;
  }
};

/// p with p.b from `b`, in register tiles; c without gaps between its rows unless p says so.
template <class C>
void times_packed(simd::Product<C> p, const RightOperand<C>& b) {
  p.b = b.data;
  p.b_row = b.ld;
  if (p.ldc == 0) p.ldc = p.n;
  const std::int64_t terms = p.k, panel = 2 * simd::kernels().lanes<C>();
  std::int64_t first = 0;
  do {
    p.k = std::min(simd::kPanelDepth, terms - first);
    simd::kernels().of<C>().packed_product(p);
    first += p.k;
    p.a += p.k * p.a_column;
    p.b += p.k * panel;
    p.accumulate = true;
    p.ahead = {};
  } while (first < terms);
}

}  // namespace fovea::cpu
