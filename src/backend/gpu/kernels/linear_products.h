// Products of the rows of a block of linear attention (linear_tile.h) with the sums of its head.

// A row's values of its lanes added up, known to all of them; `part`: ROW_PARTS.
FUNCTION void add_across(SHARED Real* part, Real* values) {
  join_rows(ReduceSum, part, values);
  SYNCHRONIZE;  // before the places are used again
}

// A chunk of numbers, of which `count` are there; at_once: of elements_at_once.
FUNCTION void real_chunk(GLOBAL const Real* from, int at_once, int count, Real* x) {
  if (at_once > 1 && count > 0) {
    load_parameters(from, 0, CHUNK, x);
    return;
  }
  UNROLLED
  for (int c = 0; c < CHUNK; ++c) x[c] = c < count ? from[c] : (Real)0;
}

// (count, columns) of the sums of a map with their columns, from a row and a column on; or `rest`, what
// rounding takes from them. columns: whole steps.
FUNCTION void stage_sums(const LinearShape* s, const LinearInputs* in, const LinearBlock* block,
                         int map, const LinearSums* sums, int rest, SHARED Stored* to, int stride,
                         int first, int count, int column, int columns) {
  GLOBAL const Real* m = sums->products + map * s->dim * s->width;
  const int at_once = elements_at_once(s->width, (size_t)m);
  ONE_BY_ONE
  for (int row = PLACE / 8; row < count; row += GROUP_SIZE / 8) {
    ONE_BY_ONE
    for (int at = PLACE % 8 * CHUNK; at < columns; at += 8 * CHUNK) {
      const int w = column + at;
      Real x[CHUNK];
      real_chunk(m + (first + row) * s->width + w, at_once, first + row < s->dim ? s->width - w : 0,
                 x);
      UNROLLED
      for (int c = 0; c < CHUNK; ++c) {
        if (w + c < s->width) x[c] *= column_of(s, in, block, map, w + c);
        if (rest) x[c] -= operand_of(x[c]);
      }
      stage_chunk(to + row * stride + at, x);
    }
  }
}

// Causal: what the block's queries have in common with its keys, (queries, LINEAR_SLICE) from a key on;
// or `back`, where own rows are keys, (LINEAR_SLICE, keys) from a query on, each query with its f.
FUNCTION void stage_inner(const LinearShape* s, const LinearBlock* block, const LinearSums* sums,
                          int back, int first, SHARED Stored* to) {
  const int queries = back ? LINEAR_SLICE : LINEAR_ROWS;
  const int keys = back ? LINEAR_ROWS : LINEAR_SLICE;
  const int at_once = elements_at_once(LINEAR_ROWS, (size_t)sums->inner);
  ONE_BY_ONE
  for (int at = PLACE; at < queries * (keys / CHUNK); at += GROUP_SIZE) {
    const int query = at / (keys / CHUNK);
    const int key = at % (keys / CHUNK) * CHUNK;
    const int row = query + (back ? first : 0);
    const int there = block->first + row < s->queries;
    Real x[CHUNK];
    real_chunk(sums->inner + row * LINEAR_ROWS + key + (back ? 0 : first), at_once,
               there ? CHUNK : 0, x);
    if (back && there) {
      const Real f = sums->stats[(block->first + row) * LINEAR_STATS];
      UNROLLED
      for (int c = 0; c < CHUNK; ++c) x[c] *= f;
    }
    stage_chunk(to + query * PADDED(keys) + key, x);
  }
}

// sum += the rows times M, the sums of a map with their columns, or `turned` M^T. Causal also what they
// have in common with the rows that they meet in the block, times these. back: own rows are keys.
FUNCTION void add_by_sums(const LinearShape* s, const LinearInputs* in, const LinearBlock* block,
                          int map, const LinearSums* sums, int turned, int back,
                          const LinearRows* rows, const LinearRows* met, SHARED Stored* staged,
                          Real (*sum)[SQUARE_SUMS]) {
  SHARED Stored* right = staged + LINEAR_LEFT_STAGED;
  const int columns = whole_steps(turned ? s->dim : s->width);
  const int slices = (rows->dim + LINEAR_SLICE - 1) / LINEAR_SLICE;
  // Of y by magnitude, which is a difference, M is in two parts.
  const int parts = rounds_operands() && s->by_magnitude && !turned && !back ? 2 : 1;
  const int of_sums = parts * slices;
  int slice = 0;
  ONE_BY_ONE
  do {
    const int of_block = slice >= of_sums;
    const int first = (of_block ? slice - of_sums : slice % slices) * LINEAR_SLICE;
    const int depth = of_block ? LINEAR_SLICE : whole_steps(fewer(rows->dim - first, LINEAR_SLICE));
    if (of_block) {
      stage_inner(s, block, sums, back, first, staged);
      stage_rows(right, LINEAR_RIGHT_STRIDE, met, block->first + first, LINEAR_SLICE, 0, columns);
    } else {
      stage_rows(staged, LINEAR_LEFT_STRIDE, rows, block->first, LINEAR_ROWS, first, depth);
      if (turned)
        stage_sums(s, in, block, map, sums, 0, right, LINEAR_LEFT_STRIDE, 0, columns, first, depth);
      else
        stage_sums(s, in, block, map, sums, slice >= slices, right, LINEAR_RIGHT_STRIDE, first,
                   depth, 0, columns);
    }
    SYNCHRONIZE;
    if (of_block && back)
      add_transposed_product(staged, PADDED(LINEAR_ROWS), right, LINEAR_RIGHT_STRIDE, depth, columns,
                             LINEAR_SQUARES, sum);
    else if (of_block || !turned)
      add_product_of_columns(staged, LINEAR_LEFT_STRIDE, right, LINEAR_RIGHT_STRIDE, depth, columns,
                             LINEAR_SQUARES, sum);
    else
      add_product_of_rows(staged, LINEAR_LEFT_STRIDE, right, LINEAR_LEFT_STRIDE, depth, columns,
                          LINEAR_SQUARES, sum);
    SYNCHRONIZE;
    ++slice;
  } while (slice < of_sums + (s->causal ? LINEAR_ROWS / LINEAR_SLICE : 0));
}

// To, or added to, rows of a head in a gradient.
FUNCTION void put_block(Real (*sum)[SQUARE_SUMS], int add, GLOBAL Stored* y, const HeadWalk* walk,
                        const LinearBlock* block, Index count, int dim) {
  int tokens[2];
  for (int i = 0; i < 2; ++i) {
    const Index row = block->first + TILE_ROW(2 * i);
    tokens[i] = row < count ? (int)row : -1;
  }
  put_rows(LINEAR_SQUARES, sum, 1, add, y + head_start(walk, block->item, block->head), walk->token,
           dim, tokens);
}
