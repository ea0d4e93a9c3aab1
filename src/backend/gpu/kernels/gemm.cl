// Products of matrices.

KERNEL gemm(ProductShape s, Int32 wide_result, TENSOR(const Stored, a), TENSOR(const Stored, b),
            TENSOR(const Real, bias), GLOBAL Byte* c_memory, Index c_first) {
  OPEN(const Stored, a);
  OPEN(const Stored, b);
  OPEN(const Real, bias);
  LOCAL Real left[STEP][PRODUCT_TILE];
  LOCAL Real right[STEP][PRODUCT_TILE];
  const Index item = GROUP / (TILES(s.n) * TILES(s.m));
  const Index row = GROUP / TILES(s.n) % TILES(s.m) * PRODUCT_TILE;
  const Index column = GROUP % TILES(s.n) * PRODUCT_TILE;
  Real sums[EACH][EACH];
  clear_tile(sums);

  for (Index k = 0; k < s.k; k += STEP) {
    for (int e = PLACE; e < STEP * PRODUCT_TILE; e += GROUP_SIZE) {
      // Neighbouring work items read neighbouring elements.
      const int ai = s.a_column == 1 ? e / STEP : e % PRODUCT_TILE;
      const int ak = s.a_column == 1 ? e % STEP : e / PRODUCT_TILE;
      left[ak][ai] = row + ai < s.m && k + ak < s.k
                         ? load(a, item * s.a_item + (row + ai) * s.a_row + (k + ak) * s.a_column)
                         : (Real)0;
      const int bj = s.b_row == 1 ? e / STEP : e % PRODUCT_TILE;
      const int bk = s.b_row == 1 ? e % STEP : e / PRODUCT_TILE;
      right[bk][bj] =
          column + bj < s.n && k + bk < s.k
              ? load(b, item * s.b_item + (k + bk) * s.b_row + (column + bj) * s.b_column)
              : (Real)0;
    }
    SYNCHRONIZE;
    add_step(left, right, sums);
    SYNCHRONIZE;
  }

  for (int i = 0; i < EACH; ++i) {
    for (int j = 0; j < EACH; ++j) {
      const Index r = row + TILE_ROW(i);
      const Index c = column + TILE_COLUMN(j);
      if (r >= s.m || c >= s.n) continue;
      const Real value = sums[i][j] + (IS_DEFINED(bias) ? bias[c] : (Real)0);
      const Index at = c_first + item * s.c_item + r * s.c_row + c;
      if (wide_result) {
        ((GLOBAL Real*)c_memory)[at] = value;
      } else {
        store((GLOBAL Stored*)c_memory, at, value);
      }
    }
  }
}
