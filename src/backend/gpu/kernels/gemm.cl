// Products of matrices. A group makes a square of PRODUCT_TILE x PRODUCT_TILE elements, a work item 4 x 4
// of them, 16 apart; operands pass through local memory in pieces of 16 columns.

#define STEP 16
#define SIDE 16
#define EACH 4

KERNEL gemm(ProductShape s, Int32 wide_result, TENSOR(const Stored, a), TENSOR(const Stored, b),
            TENSOR(const Real, bias), GLOBAL Byte* c_memory, Index c_first) {
  OPEN(const Stored, a);
  OPEN(const Stored, b);
  OPEN(const Real, bias);
  LOCAL Real left[STEP][PRODUCT_TILE];
  LOCAL Real right[STEP][PRODUCT_TILE];
  const Index across = (s.n + PRODUCT_TILE - 1) / PRODUCT_TILE;
  const Index down = (s.m + PRODUCT_TILE - 1) / PRODUCT_TILE;
  const Index item = GROUP / (across * down);
  const Index row = GROUP / across % down * PRODUCT_TILE;
  const Index column = GROUP % across * PRODUCT_TILE;
  const int x = PLACE % SIDE;
  const int y = PLACE / SIDE;
  Real sum[EACH][EACH];
  for (int i = 0; i < EACH; ++i)
    for (int j = 0; j < EACH; ++j) sum[i][j] = 0;

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
    for (int step = 0; step < STEP; ++step) {
      Real u[EACH], v[EACH];
      for (int i = 0; i < EACH; ++i) u[i] = left[step][y + i * SIDE];
      for (int j = 0; j < EACH; ++j) v[j] = right[step][x + j * SIDE];
      for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) sum[i][j] += u[i] * v[j];
    }
    SYNCHRONIZE;
  }

  for (int i = 0; i < EACH; ++i) {
    for (int j = 0; j < EACH; ++j) {
      const Index r = row + y + i * SIDE;
      const Index c = column + x + j * SIDE;
      if (r >= s.m || c >= s.n) continue;
      const Real value = sum[i][j] + (IS_DEFINED(bias) ? bias[c] : (Real)0);
      const Index at = c_first + item * s.c_item + r * s.c_row + c;
      if (wide_result) {
        ((GLOBAL Real*)c_memory)[at] = value;
      } else {
        store((GLOBAL Stored*)c_memory, at, value);
      }
    }
  }
}
