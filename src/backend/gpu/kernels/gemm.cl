// Products of matrices.
#include "types.h"
#include "warp_tile.h"

// Rows of an operand from `first` on, columns from k on, as (PRODUCT_TILE, PRODUCT_STEP), zeros behind
// its end. Element (i, k) is i row + k step elements into the item.
FUNCTION void stage_matrix(SHARED Stored* to, GLOBAL const Stored* x, Index rows, Index row,
                           Index depth, Index step, Index first, Index k) {
  const int along = step == 1;  // neighbouring work items read neighbouring elements
  for (int e = PLACE; e < PRODUCT_TILE * PRODUCT_STEP; e += GROUP_SIZE) {
    const int i = along ? e / PRODUCT_STEP : e % PRODUCT_TILE;
    const int c = along ? e % PRODUCT_STEP : e / PRODUCT_TILE;
    to[i * PRODUCT_STRIDE + c] =
        first + i < rows && k + c < depth ? x[(first + i) * row + (k + c) * step] : (Stored)0;
  }
}

KERNEL gemm(ProductShape s, Int32 wide_result, TENSOR(const Stored, a), TENSOR(const Stored, b),
            TENSOR(const Real, bias), GLOBAL Byte* c_memory, Index c_first) {
  OPEN(const Stored, a);
  OPEN(const Stored, b);
  OPEN(const Real, bias);
  LOCAL Stored left[PRODUCT_TILE * PRODUCT_STRIDE];
  LOCAL Stored right[PRODUCT_TILE * PRODUCT_STRIDE];
  const Index item = GROUP / (TILES(s.n) * TILES(s.m));
  const Index row = GROUP / TILES(s.n) % TILES(s.m) * PRODUCT_TILE;
  const Index column = GROUP % TILES(s.n) * PRODUCT_TILE;
  Real sums[PRODUCT_SQUARES][SQUARE_SUMS];
  clear_squares(PRODUCT_SQUARES, sums);

  for (Index k = 0; k < s.k; k += PRODUCT_STEP) {
    stage_matrix(left, a + item * s.a_item, s.m, s.a_row, s.k, s.a_column, row, k);
    stage_matrix(right, b + item * s.b_item, s.n, s.b_column, s.k, s.b_row, column, k);
    SYNCHRONIZE;
    add_product_of_rows(left, PRODUCT_STRIDE, right, PRODUCT_STRIDE, product_depth(s.k - k),
                        PRODUCT_TILE, PRODUCT_SQUARES, sums);
    SYNCHRONIZE;
  }

#pragma unroll
  for (int j = 0; j < PRODUCT_SQUARES; ++j) {
#pragma unroll
    for (int e = 0; e < SQUARE_SUMS; ++e) {
      const Index r = row + TILE_ROW(e);
      const Index c = column + TILE_COLUMN(j, e);
      if (r >= s.m || c >= s.n) continue;
      const Real value = sums[j][e] + (IS_DEFINED(bias) ? bias[c] : (Real)0);
      const Index at = c_first + item * s.c_item + r * s.c_row + c;
      if (wide_result) {
        ((GLOBAL Real*)c_memory)[at] = value;
      } else {
        store((GLOBAL Stored*)c_memory, at, value);
      }
    }
  }
}
