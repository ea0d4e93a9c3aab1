// Products of matrices by warps. A group's 8 warps of 32 lanes stand 4 by 2 over a tile of sums: 64
// rows, and any multiple of 32 columns. A warp has 16 rows of it and every other square of 16
// columns; a lane has 8 sums of each square, at the places that mma.m16n8k16 of CUDA's tensor cores
// gives it (PTX ISA, "Matrix fragments for mma.m16n8k16"; two of them make a square).
//
// Operands lie in local memory as they are stored: bfloat16 is not widened. Tensor cores multiply
// where the dialect defines TENSOR_CORES: bfloat16, and float32 where ALLOW_TF32 is defined. Else
// each lane makes its own sums. All that surrounds a product is one text for both. All arrays in local
// memory begin at a multiple of 16 bytes, which copies of whole chunks and tensor cores ask for.

#define SQUARE 16
#define SQUARE_SUMS 8   // of a lane
#define SQUARE_STEP 32  // columns from one square of a warp to its next one

#define LANE (PLACE % WARP)
#define TILE_TOP (PLACE / (2 * WARP) * SQUARE)  // of a warp
#define TILE_SIDE (PLACE / WARP % 2 * SQUARE)
// Where sum e of a lane's square j stands in the tile. Sums e and e ^ 1 are beside each other; those
// with (e & 2) == 0 have the lane's upper row, the others its lower one.
#define TILE_ROW(e) (TILE_TOP + LANE / 4 + ((e) & 2) * 4)
#define TILE_COLUMN(j, e) (FIRST_COLUMN + COLUMNS_AWAY(j, e))
#define FIRST_COLUMN (TILE_SIDE + LANE % 4 * 2)
#define COLUMNS_AWAY(j, e) ((j) * SQUARE_STEP + ((e) & 1) + ((e) & 4) * 2)
#define IS_LOWER(e) (((e) & 2) / 2)
// Eight lanes have a row's sums; this is which.
#define LANES_OF_ROW 8
#define LANE_OF_ROW (PLACE / WARP % 2 * 4 + LANE % 4)
// And of a column, with two rows each.
#define LANES_OF_COLUMN 32
#define LANE_OF_COLUMN (PLACE / (2 * WARP) * 8 + LANE / 4)

// Rows are a chunk further apart than they are long, so that neighbouring ones lie in other banks.
#define PADDED(n) ((n) + CHUNK)
#define DEPTH_STEP 16  // of which the depth of a product on tensor cores is a multiple

// Squares of PRODUCT_TILE x PRODUCT_TILE sums that cover a matrix: a group makes one, of operands that
// pass through local memory PRODUCT_STEP deep.
#define TILES(n) (((n) + PRODUCT_TILE - 1) / PRODUCT_TILE)
#define PRODUCT_STEP 32
#define PRODUCT_STRIDE PADDED(PRODUCT_STEP)
#define PRODUCT_SQUARES (PRODUCT_TILE / SQUARE_STEP)

FUNCTION int whole_steps(int depth) { return (depth + DEPTH_STEP - 1) / DEPTH_STEP * DEPTH_STEP; }

// How deep the next product is where so much is left. (A depth that is known when it is compiled makes
// PoCL spread the loop over the work items, which is slower.)
FUNCTION int product_depth(Index left) {
  return left < PRODUCT_STEP ? whole_steps((int)left) : PRODUCT_STEP;
}

#ifdef DTYPE_bfloat16
FUNCTION Stored stored_of(Real value) { return bfloat16_of_float(value); }
#else
FUNCTION Stored stored_of(Real value) { return value; }
#endif

// A number as products see it where it is an operand, and whether that may be another one.
#if defined(DTYPE_bfloat16)
FUNCTION int rounds_operands(void) { return 1; }
FUNCTION Real operand_of(Real value) { return float_of_bfloat16(bfloat16_of_float(value)); }
#elif defined(TENSOR_CORES) && defined(ALLOW_TF32)
FUNCTION int rounds_operands(void) { return 1; }
FUNCTION Real operand_of(Real value) { return FLOAT_OF_BITS(tf32_of_float(value)); }
#else
FUNCTION int rounds_operands(void) { return 0; }
FUNCTION Real operand_of(Real value) { return value; }
#endif

FUNCTION void clear_squares(int squares, Real (*sums)[SQUARE_SUMS]) {
  for (int j = 0; j < squares; ++j)
    for (int e = 0; e < SQUARE_SUMS; ++e) sums[j][e] = 0;
}

#if defined(TENSOR_CORES) && defined(DTYPE_bfloat16)

// Lane l of the four 8 x 8 matrices that make a 16 x 16 one points at row l % 8 of matrix l / 8.
// They follow each other as the fragments of mma do: of the left operand down first, of the right
// one along the depth first. transposed: left is (depth, 64).
FUNCTION void left_fragment(SHARED const Stored* left, int stride, int transposed, int k,
                            Word* fragment) {
  if (transposed)
    load_transposed_matrices(
        left + (k + LANE / SQUARE * 8 + LANE % 8) * stride + TILE_TOP + LANE / 8 % 2 * 8, fragment);
  else
    load_matrices(left + (TILE_TOP + LANE % SQUARE) * stride + k + LANE / SQUARE * 8, fragment);
}

// sums += left right^T. left: (64, depth), right: (columns, depth); a warp leaves out its squares from
// `columns` on, of which there are at most `squares`.
FUNCTION void add_product_of_rows(SHARED const Stored* left, int left_stride,
                                  SHARED const Stored* right, int right_stride, int depth,
                                  int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  for (int k = 0; k < depth; k += DEPTH_STEP) {
    Word a[4], b[4];
    left_fragment(left, left_stride, 0, k, a);
    for (int j = 0; j < squares; ++j) {
      const int column = j * SQUARE_STEP + TILE_SIDE;
      if (column >= columns) continue;
      load_matrices(right + (column + LANE / SQUARE * 8 + LANE % 8) * right_stride + k +
                        LANE / 8 % 2 * 8,
                    b);
      multiply_add_bfloat16(a, b[0], b[1], sums[j]);
      multiply_add_bfloat16(a, b[2], b[3], sums[j] + 4);
    }
  }
}

// sums += left right, or left^T right. right: (depth, columns).
FUNCTION void add_product_with(SHARED const Stored* left, int left_stride, int transposed,
                               SHARED const Stored* right, int right_stride, int depth,
                               int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  for (int k = 0; k < depth; k += DEPTH_STEP) {
    Word a[4], b[4];
    left_fragment(left, left_stride, transposed, k, a);
    for (int j = 0; j < squares; ++j) {
      const int column = j * SQUARE_STEP + TILE_SIDE;
      if (column >= columns) continue;
      load_transposed_matrices(
          right + (k + LANE % SQUARE) * right_stride + column + LANE / SQUARE * 8, b);
      multiply_add_bfloat16(a, b[0], b[1], sums[j]);
      multiply_add_bfloat16(a, b[2], b[3], sums[j] + 4);
    }
  }
}

#elif defined(TENSOR_CORES) && defined(ALLOW_TF32)

// Fragments of mma.m16n8k8: a lane has rows LANE / 4 and columns LANE % 4 of both operands. An operand's
// element at k of the depth and row, or column, i is k * step + i * stride elements from its first.
FUNCTION void left_fragment(SHARED const Stored* left, int step, int stride, int k,
                            Word* fragment) {
  SHARED const Stored* at = left + (k + LANE % 4) * step + (TILE_TOP + LANE / 4) * stride;
  fragment[0] = tf32_of_float(at[0]);
  fragment[1] = tf32_of_float(at[8 * stride]);
  fragment[2] = tf32_of_float(at[4 * step]);
  fragment[3] = tf32_of_float(at[8 * stride + 4 * step]);
}

FUNCTION void add_product_of(SHARED const Stored* left, int left_step, int left_stride,
                             SHARED const Stored* right, int step, int stride, int depth,
                             int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  for (int k = 0; k < depth; k += 8) {
    Word a[4];
    left_fragment(left, left_step, left_stride, k, a);
    for (int j = 0; j < squares; ++j) {
      const int column = j * SQUARE_STEP + TILE_SIDE;
      if (column >= columns) continue;
      SHARED const Stored* at = right + (k + LANE % 4) * step + (column + LANE / 4) * stride;
      multiply_add_tf32(a, tf32_of_float(at[0]), tf32_of_float(at[4 * step]), sums[j]);
      multiply_add_tf32(a, tf32_of_float(at[8 * stride]),
                        tf32_of_float(at[8 * stride + 4 * step]), sums[j] + 4);
    }
  }
}

FUNCTION void add_product_of_rows(SHARED const Stored* left, int left_stride,
                                  SHARED const Stored* right, int right_stride, int depth,
                                  int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  add_product_of(left, 1, left_stride, right, 1, right_stride, depth, columns, squares, sums);
}
FUNCTION void add_product_with(SHARED const Stored* left, int left_stride, int transposed,
                               SHARED const Stored* right, int right_stride, int depth,
                               int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  add_product_of(left, transposed ? left_stride : 1, transposed ? 1 : left_stride, right,
                 right_stride, 1, depth, columns, squares, sums);
}

#else

// CHUNK elements, two, and one, at once.
#if defined(DTYPE_bfloat16)
FUNCTION Real read_one(SHARED const Stored* from) { return float_of_bfloat16(*from); }
FUNCTION void read_chunk(SHARED const Stored* from, Real* to) {
  const uint4 words = *(SHARED const uint4*)from;
  widen(words.x, to);
  widen(words.y, to + 2);
  widen(words.z, to + 4);
  widen(words.w, to + 6);
}
FUNCTION void read_pair(SHARED const Stored* from, Real* to) {
  widen(*(SHARED const Word*)from, to);
}
#else
FUNCTION Real read_one(SHARED const Stored* from) { return *from; }
#if defined(DTYPE_float64)
FUNCTION void read_pair(SHARED const Stored* from, Real* to) {
  const double2 pair = *(SHARED const double2*)from;
  to[0] = pair.x;
  to[1] = pair.y;
}
FUNCTION void read_chunk(SHARED const Stored* from, Real* to) { read_pair(from, to); }
#else
FUNCTION void read_chunk(SHARED const Stored* from, Real* to) {
  const float4 chunk = *(SHARED const float4*)from;
  to[0] = chunk.x;
  to[1] = chunk.y;
  to[2] = chunk.z;
  to[3] = chunk.w;
}
FUNCTION void read_pair(SHARED const Stored* from, Real* to) {
  const float2 pair = *(SHARED const float2*)from;
  to[0] = pair.x;
  to[1] = pair.y;
}
#endif
#endif

FUNCTION void add_product_of_rows(SHARED const Stored* left, int left_stride,
                                  SHARED const Stored* right, int right_stride, int depth,
                                  int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  for (int k = 0; k < depth; k += CHUNK) {
    Real u[2][CHUNK], w[4][CHUNK];
    for (int i = 0; i < 2; ++i) read_chunk(left + TILE_ROW(2 * i) * left_stride + k, u[i]);
    for (int j = 0; j < squares; ++j) {
      if (j * SQUARE_STEP + TILE_SIDE >= columns) continue;
      for (int i = 0; i < 4; ++i)
        read_chunk(right + TILE_COLUMN(j, i / 2 * 4 + i % 2) * right_stride + k, w[i]);
      for (int c = 0; c < CHUNK; ++c)
        for (int e = 0; e < SQUARE_SUMS; ++e)
          sums[j][e] += u[IS_LOWER(e)][c] * w[e / 4 * 2 + e % 2][c];
    }
  }
}

FUNCTION void add_product_with(SHARED const Stored* left, int left_stride, int transposed,
                               SHARED const Stored* right, int right_stride, int depth,
                               int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  for (int k = 0; k < depth; k += CHUNK) {
    Real u[2][CHUNK], w[4];
    for (int i = 0; i < 2; ++i) {
      if (transposed) {
        for (int c = 0; c < CHUNK; ++c)
          u[i][c] = read_one(left + (k + c) * left_stride + TILE_ROW(2 * i));
      } else {
        read_chunk(left + TILE_ROW(2 * i) * left_stride + k, u[i]);
      }
    }
    for (int j = 0; j < squares; ++j) {
      if (j * SQUARE_STEP + TILE_SIDE >= columns) continue;
      for (int c = 0; c < CHUNK; ++c) {
        SHARED const Stored* row = right + (k + c) * right_stride;
        read_pair(row + TILE_COLUMN(j, 0), w);
        read_pair(row + TILE_COLUMN(j, 4), w + 2);
        for (int e = 0; e < SQUARE_SUMS; ++e)
          sums[j][e] += u[IS_LOWER(e)][c] * w[e / 4 * 2 + e % 2];
      }
    }
  }
}

#endif

// sums += left right. left: (64, depth), right: (depth, columns).
FUNCTION void add_product_of_columns(SHARED const Stored* left, int left_stride,
                                     SHARED const Stored* right, int right_stride, int depth,
                                     int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  add_product_with(left, left_stride, 0, right, right_stride, depth, columns, squares, sums);
}
// sums += left^T right. left: (depth, 64), right: (depth, columns).
FUNCTION void add_transposed_product(SHARED const Stored* left, int left_stride,
                                     SHARED const Stored* right, int right_stride, int depth,
                                     int columns, int squares, Real (*sums)[SQUARE_SUMS]) {
  add_product_with(left, left_stride, 1, right, right_stride, depth, columns, squares, sums);
}
