// What kernels that multiply matrices have in common: a group makes a square of PRODUCT_TILE x
// PRODUCT_TILE sums, a work item EACH x EACH of them, SIDE apart. Operands pass through local memory in
// pieces of STEP columns: left[k][i] and right[k][j].

#define STEP 16
#define SIDE 16
#define EACH 4

#define TILES(n) (((n) + PRODUCT_TILE - 1) / PRODUCT_TILE)

// Where a work item's sum (i, j) stands in the square.
#define TILE_ROW(i) (PLACE / SIDE + (i)*SIDE)
#define TILE_COLUMN(j) (PLACE % SIDE + (j)*SIDE)

FUNCTION void clear_tile(Real sums[EACH][EACH]) {
  for (int i = 0; i < EACH; ++i) {
    for (int j = 0; j < EACH; ++j) sums[i][j] = 0;
  }
}

FUNCTION void add_step(SHARED Real left[STEP][PRODUCT_TILE], SHARED Real right[STEP][PRODUCT_TILE],
                       Real sums[EACH][EACH]) {
  for (int k = 0; k < STEP; ++k) {
    Real u[EACH], v[EACH];
    for (int i = 0; i < EACH; ++i) u[i] = left[k][TILE_ROW(i)];
    for (int j = 0; j < EACH; ++j) v[j] = right[k][TILE_COLUMN(j)];
    for (int i = 0; i < EACH; ++i) {
      for (int j = 0; j < EACH; ++j) sums[i][j] += u[i] * v[j];
    }
  }
}
