// Softmax attention with one map a head, or two maps over one value stream, of all keys or inside units of
// tokens. A group owns a block of queries and meets the keys a block at a time: the softmax is kept up as
// it goes (Milakov and Gimelshein, arXiv 1805.02867), so that no map exists as a whole.

#define QUARTERS (GROUP_SIZE / ROWS)    // work items that share a row of the map
#define QUARTER (OTHERS / QUARTERS)     // columns that each of them has

// One map's results before they are divided by the sums of their weights, (rows, channels). Writes the
// log-sum-exp, and into `factor` what is to multiply each row.
FUNCTION void attend(const AttentionShape* s, const Lookups* look, const RowBlock* block, int map_index,
                     const Head* q, const Head* k, const Head* v,
                     SHARED const Int32* own_tokens, SHARED Int32* met_tokens,
                     SHARED Real* staged, SHARED Real* map, SHARED Real* part,
                     SHARED Real* factor, GLOBAL Real* lse, Real (*sum)[EACH_CHANNEL]) {
  const int row = PLACE % ROWS;
  const int quarter = PLACE / ROWS;
  Real top = -INFINITY;
  Real weights = 0;  // of this work item's columns
  clear_channels(sum);
  const Index end = keys_before(s, block->first + ROWS);
  for (Index first = 0; first < end; first += OTHERS) {
    if (PLACE < OTHERS) met_tokens[PLACE] = key_token(s, look, block, first + PLACE);
    SYNCHRONIZE;
    Real product[EACH_ROW][EACH_OTHER];
    products(staged, q, own_tokens, k, met_tokens, product);
    for (int i = 0; i < EACH_ROW; ++i) {
      for (int j = 0; j < EACH_OTHER; ++j) {
        const int r = LANE_Y + i * LANES;
        const int c = LANE_X + j * LANES;
        const Index query = block->first + r;
        const Index key = first + c;
        map[c * LEFT + r] = is_allowed(s, query, own_tokens[r], key, met_tokens[c])
                                ? score_of(s, look, block, query, key, product[i][j])
                                : -INFINITY;
      }
    }
    SYNCHRONIZE;

    Real most = top;
    for (int c = quarter * QUARTER; c < (quarter + 1) * QUARTER; ++c)
      most = map[c * LEFT + row] > most ? map[c * LEFT + row] : most;
    part[PLACE] = most;
    SYNCHRONIZE;
    for (int other = 0; other < QUARTERS; ++other)
      most = part[other * ROWS + row] > most ? part[other * ROWS + row] : most;
    // (Of a row without an allowed key so far every weight is exp(-inf).)
    const Real shift = most == -INFINITY ? (Real)0 : most;
    const Real kept = exp(top - shift);
    weights *= kept;
    for (int c = quarter * QUARTER; c < (quarter + 1) * QUARTER; ++c) {
      const Real weight = exp(map[c * LEFT + row] - shift);
      map[c * LEFT + row] = weight;
      weights += weight;
    }
    top = most;
    if (quarter == 0) factor[row] = kept;
    SYNCHRONIZE;
    for (int i = 0; i < EACH_ROW; ++i)
      for (int j = 0; j < EACH_CHANNEL; ++j) sum[i][j] *= factor[LANE_Y + i * LANES];
    add_products(staged, map, v, met_tokens, sum);
  }

  part[PLACE] = weights;
  SYNCHRONIZE;
  const Index query = block->first + row;
  if (quarter == 0 && query < s->queries) {
    Real all = 0;
    for (int other = 0; other < QUARTERS; ++other) all += part[other * ROWS + row];
    factor[row] = all == 0 ? (Real)0 : coefficient(s, look, block, map_index, query) / all;
    lse[lse_row(s, map_index, block, query)] =
        own_tokens[row] == NOBODY ? (Real)0 : top + log(all);
  }
  SYNCHRONIZE;
}

KERNEL attention(ATTENTION_INPUTS, TENSOR(Stored, out), TENSOR(Real, lse)) {
  OPEN_ATTENTION_INPUTS;
  OPEN(Stored, out);
  OPEN(Real, lse);
  LOCAL Real staged[STAGED];
  LOCAL Real map[OTHERS * LEFT];
  LOCAL Real part[GROUP_SIZE];
  LOCAL Real factor[ROWS];
  LOCAL Int32 own_tokens[ROWS];
  LOCAL Int32 met_tokens[OTHERS];
  const RowBlock block = block_of(&s, s.queries);
  if (PLACE < ROWS) own_tokens[PLACE] = query_token(&s, &look, &block, block.first + PLACE);
  SYNCHRONIZE;
  const Head values = padded_head(v, &s.v, &block, s.width, look.padding);
  Real result[EACH_ROW][EACH_CHANNEL];
  clear_channels(result);
  for (int i = 0; i < s.maps; ++i) {
    const Head queries = head_of(q, &s.q[i], &block, s.dim);
    const Head keys = padded_head(k, &s.k[i], &block, s.dim, look.padding);
    Real sum[EACH_ROW][EACH_CHANNEL];
    attend(&s, &look, &block, i, &queries, &keys, &values, own_tokens, met_tokens, staged, map, part,
           factor, lse, sum);
    for (int r = 0; r < EACH_ROW; ++r)
      for (int c = 0; c < EACH_CHANNEL; ++c) result[r][c] += sum[r][c] * factor[LANE_Y + r * LANES];
    SYNCHRONIZE;
  }
  const HeadWalk walk = walk_of_out(&s);
  int tokens[EACH_ROW];
  for (int i = 0; i < EACH_ROW; ++i) tokens[i] = own_tokens[LANE_Y + i * LANES];
  put_sums(result, 1, 0, out, &walk, &block, s.width, tokens);
}
