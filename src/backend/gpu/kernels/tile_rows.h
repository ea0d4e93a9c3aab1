// What both kinds of attention do with the rows of a tile of sums (warp_tile.h), of which a lane has two,
// TILE_ROW(0) and TILE_ROW(2).

#define PART_STRIDE (LANES_OF_ROW + 1)
#define ROW_PARTS (GROUP_SIZE / WARP / 2 * SQUARE * PART_STRIDE)  // of all rows

FUNCTION int fewer(int a, int b) { return a < b ? a : b; }

// Each row's values of its eight lanes joined, known to all of them: two rows a lane. `part`: ROW_PARTS
// places, which must not be in use.
FUNCTION void join_rows(Int32 op, SHARED Real* part, Real* values) {
  for (int i = 0; i < 2; ++i) part[TILE_ROW(2 * i) * PART_STRIDE + LANE_OF_ROW] = values[i];
  SYNCHRONIZE;
  for (int i = 0; i < 2; ++i) {
    SHARED const Real* row = part + TILE_ROW(2 * i) * PART_STRIDE;
    values[i] = row[0];
    for (int lane = 1; lane < LANES_OF_ROW; ++lane) values[i] = join(op, values[i], row[lane]);
  }
}

// To, or added to, `dim` channels of two tokens of a head, whose tokens are `step` apart; of a number
// below 0 there is none. (A row after the other: all at once take more registers.)
FUNCTION void put_rows(int squares, Real (*sums)[SQUARE_SUMS], Real factor, int add,
                       GLOBAL Stored* head, Index step, int dim, const int* tokens) {
  const int channels = dim - FIRST_COLUMN;
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    if (tokens[i] < 0) continue;
    GLOBAL Stored* row = head + tokens[i] * step + FIRST_COLUMN;
    UNROLLED
    for (int j = 0; j < squares; ++j) {
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        const int channel = COLUMNS_AWAY(j, e);
        if (IS_LOWER(e) != i || channel >= channels) continue;
        const Real value = sums[j][e] * factor;
        store(row, channel, add ? load(row, channel) + value : value);
      }
    }
  }
}
