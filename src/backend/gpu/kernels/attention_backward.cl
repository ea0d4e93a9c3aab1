// Gradients of attention.cl. With the fused map A = sum_i c_i P_i and its gradient dA = dout v^T,
//   dS_i = c_i P_i (dA - t_i),  t_i = the row's sum of P_i dA,  which is the gradient of c_i:
// first all t; then a group owns queries and makes dq, or owns keys and makes dk and dv, each from the
// maps made again from the log-sum-exp, so that no two groups add to one place. dgsa 2.2 (backward).

// P of a score that may not be.
FUNCTION Real weight_of(const AttentionShape* s, const Lookups* look, const RowBlock* block,
                        Index query, int query_is, Index key, int key_is, Real product, Real lse) {
  if (!is_allowed(s, query, query_is, key, key_is) || lse == -INFINITY) return 0;
  return exp(score_of(s, look, block, query, key, product) - lse);
}

// Writes t, (maps, batch, heads, units, queries), and the gradients of c if they are wanted.
KERNEL attention_row_sums(ATTENTION_INPUTS, TENSOR(const Real, lse), TENSOR(const Stored, dout),
                          TENSOR(Real, sums), TENSOR(Stored, dc1), TENSOR(Stored, dc2)) {
  OPEN_ATTENTION_INPUTS;
  OPEN(const Real, lse);
  OPEN(const Stored, dout);
  OPEN(Real, sums);
  LOCAL Real staged[STAGED];
  LOCAL Real part[LANES * LEFT];
  LOCAL Int32 own_tokens[ROWS];
  LOCAL Int32 met_tokens[OTHERS];
  const RowBlock block = block_of(&s, s.queries);
  if (PLACE < ROWS) own_tokens[PLACE] = query_token(&s, &look, &block, block.first + PLACE);
  SYNCHRONIZE;
  const HeadWalk walk = walk_of_out(&s);
  const Head upstream = head_of(dout, &walk, &block, s.width);
  const Head values = padded_head(v, &s.v, &block, s.width, look.padding);
  const Index end = keys_before(&s, block.first + ROWS);
  for (int m = 0; m < s.maps; ++m) {
    const Head queries = head_of(q, &s.q[m], &block, s.dim);
    const Head keys = padded_head(k, &s.k[m], &block, s.dim, look.padding);
    Real sum[EACH_ROW], row_lse[EACH_ROW];
    for (int i = 0; i < EACH_ROW; ++i) {
      const Index query = block.first + LANE_Y + i * LANES;
      sum[i] = 0;
      row_lse[i] = query < s.queries ? lse[lse_row(&s, m, &block, query)] : (Real)0;
    }
    for (Index first = 0; first < end; first += OTHERS) {
      if (PLACE < OTHERS) met_tokens[PLACE] = key_token(&s, &look, &block, first + PLACE);
      SYNCHRONIZE;
      Real product[EACH_ROW][EACH_OTHER], dfused[EACH_ROW][EACH_OTHER];
      products(staged, &queries, own_tokens, &keys, met_tokens, product);
      products(staged, &upstream, own_tokens, &values, met_tokens, dfused);
      for (int i = 0; i < EACH_ROW; ++i) {
        for (int j = 0; j < EACH_OTHER; ++j) {
          const int r = LANE_Y + i * LANES;
          const int c = LANE_X + j * LANES;
          sum[i] += dfused[i][j] * weight_of(&s, &look, &block, block.first + r, own_tokens[r],
                                             first + c, met_tokens[c], product[i][j], row_lse[i]);
        }
      }
      SYNCHRONIZE;
    }
    for (int i = 0; i < EACH_ROW; ++i) part[LANE_X * LEFT + LANE_Y + i * LANES] = sum[i];
    SYNCHRONIZE;
    const Index query = block.first + PLACE;
    if (PLACE < ROWS && query < s.queries) {
      Real all = 0;
      for (int lane = 0; lane < LANES; ++lane) all += part[lane * LEFT + PLACE];
      sums[lse_row(&s, m, &block, query)] = all;
      GLOBAL Stored* dc = m == 0 ? dc1_memory : dc2_memory;
      const Index dc_first = m == 0 ? dc1_first : dc2_first;
      if (dc) store(dc, dc_first + (block.item * s.queries + query) * s.heads + block.head, all);
    }
    SYNCHRONIZE;
  }
}

KERNEL attention_dq(ATTENTION_INPUTS, TENSOR(const Real, lse), TENSOR(const Stored, dout),
                    TENSOR(const Real, sums), TENSOR(Stored, dq)) {
  OPEN_ATTENTION_INPUTS;
  OPEN(const Real, lse);
  OPEN(const Stored, dout);
  OPEN(const Real, sums);
  OPEN(Stored, dq);
  LOCAL Real staged[STAGED];
  LOCAL Real map[OTHERS * LEFT];
  LOCAL Int32 own_tokens[ROWS];
  LOCAL Int32 met_tokens[OTHERS];
  const RowBlock block = block_of(&s, s.queries);
  if (PLACE < ROWS) own_tokens[PLACE] = query_token(&s, &look, &block, block.first + PLACE);
  SYNCHRONIZE;
  int tokens[EACH_ROW];
  for (int i = 0; i < EACH_ROW; ++i) tokens[i] = own_tokens[LANE_Y + i * LANES];
  const HeadWalk walk = walk_of_out(&s);
  const Head upstream = head_of(dout, &walk, &block, s.width);
  const Head values = padded_head(v, &s.v, &block, s.width, look.padding);
  const Index end = keys_before(&s, block.first + ROWS);
  for (int m = 0; m < s.maps; ++m) {
    const Head queries = head_of(q, &s.q[m], &block, s.dim);
    const Head keys = padded_head(k, &s.k[m], &block, s.dim, look.padding);
    Real sum[EACH_ROW][EACH_CHANNEL];
    clear_channels(sum);
    Real row_lse[EACH_ROW], row_sum[EACH_ROW], c[EACH_ROW];
    for (int i = 0; i < EACH_ROW; ++i) {
      const Index query = block.first + LANE_Y + i * LANES;
      const int is_there = query < s.queries;
      row_lse[i] = is_there ? lse[lse_row(&s, m, &block, query)] : (Real)0;
      row_sum[i] = is_there ? sums[lse_row(&s, m, &block, query)] : (Real)0;
      c[i] = is_there ? coefficient(&s, &look, &block, m, query) : (Real)0;
    }
    for (Index first = 0; first < end; first += OTHERS) {
      if (PLACE < OTHERS) met_tokens[PLACE] = key_token(&s, &look, &block, first + PLACE);
      SYNCHRONIZE;
      Real product[EACH_ROW][EACH_OTHER], dfused[EACH_ROW][EACH_OTHER];
      products(staged, &queries, own_tokens, &keys, met_tokens, product);
      products(staged, &upstream, own_tokens, &values, met_tokens, dfused);
      for (int i = 0; i < EACH_ROW; ++i) {
        for (int j = 0; j < EACH_OTHER; ++j) {
          const int at = LANE_X + j * LANES;
          const Real p = weight_of(&s, &look, &block, block.first + LANE_Y + i * LANES, tokens[i],
                                   first + at, met_tokens[at], product[i][j], row_lse[i]);
          map[at * LEFT + LANE_Y + i * LANES] = c[i] * p * (dfused[i][j] - row_sum[i]);
        }
      }
      SYNCHRONIZE;
      add_products(staged, map, &keys, met_tokens, sum);
    }
    put_sums(sum, scale, s.add, dq, &s.q[m], &block, s.dim, tokens);
  }
}

// Rows at padding, and zeros in place of the others.
FUNCTION void put_padding(Real (*sum)[EACH_CHANNEL], Real factor, const AttentionShape* s,
                          const RowBlock* block, const int* tokens, int dim, GLOBAL Real* to) {
  for (int i = 0; i < EACH_ROW; ++i) {
    const Index key = block->first + LANE_Y + i * LANES;
    for (int j = 0; j < EACH_CHANNEL; ++j) {
      const int channel = LANE_X + j * LANES;
      if (key < s->keys && channel < dim)
        to[lse_row(s, 0, block, key) * (s->dim + s->width) + channel] =
            tokens[i] == PADDING ? sum[i][j] * factor : (Real)0;
    }
  }
}

// dpadding: (batch, heads, units, keys, dim + width), or undefined.
KERNEL attention_dk_dv(ATTENTION_INPUTS, TENSOR(const Real, lse), TENSOR(const Stored, dout),
                       TENSOR(const Real, sums), TENSOR(Stored, dk), TENSOR(Stored, dv),
                       TENSOR(Real, dpadding)) {
  OPEN_ATTENTION_INPUTS;
  OPEN(const Real, lse);
  OPEN(const Stored, dout);
  OPEN(const Real, sums);
  OPEN(Stored, dk);
  OPEN(Stored, dv);
  OPEN(Real, dpadding);
  LOCAL Real staged[STAGED];
  LOCAL Real map[OTHERS * LEFT];
  LOCAL Int32 own_tokens[ROWS];
  LOCAL Int32 met_tokens[OTHERS];
  const RowBlock block = block_of(&s, s.keys);
  if (PLACE < ROWS) own_tokens[PLACE] = key_token(&s, &look, &block, block.first + PLACE);
  SYNCHRONIZE;
  // Keys that nobody may attend to have gradients too: zeros.
  int tokens[EACH_ROW];
  for (int i = 0; i < EACH_ROW; ++i)
    tokens[i] = token_of(&look, block.unit, block.first + LANE_Y + i * LANES, s.keys);
  const HeadWalk walk = walk_of_out(&s);
  const Head upstream = head_of(dout, &walk, &block, s.width);
  const Head values = padded_head(v, &s.v, &block, s.width, look.padding);
  // The first query that sees one of the keys.
  const Index earliest = s.causal ? block.first - (s.keys - s.queries) : 0;
  const Index begin = earliest < 0 ? 0 : earliest / OTHERS * OTHERS;
  Real dvalues[EACH_ROW][EACH_CHANNEL];
  clear_channels(dvalues);
  for (int m = 0; m < s.maps; ++m) {
    const Head queries = head_of(q, &s.q[m], &block, s.dim);
    const Head keys = padded_head(k, &s.k[m], &block, s.dim, look.padding);
    Real dkeys[EACH_ROW][EACH_CHANNEL];
    clear_channels(dkeys);
    for (Index first = begin; first < s.queries; first += OTHERS) {
      if (PLACE < OTHERS) met_tokens[PLACE] = query_token(&s, &look, &block, first + PLACE);
      SYNCHRONIZE;
      Real product[EACH_ROW][EACH_OTHER], dscore[EACH_ROW][EACH_OTHER];
      products(staged, &keys, own_tokens, &queries, met_tokens, product);
      products(staged, &values, own_tokens, &upstream, met_tokens, dscore);
      for (int j = 0; j < EACH_OTHER; ++j) {
        const int at = LANE_X + j * LANES;
        const Index query = first + at;
        const int is_there = query < s.queries;
        const Real row_lse = is_there ? lse[lse_row(&s, m, &block, query)] : (Real)0;
        const Real row_sum = is_there ? sums[lse_row(&s, m, &block, query)] : (Real)0;
        const Real c = is_there ? coefficient(&s, &look, &block, m, query) : (Real)0;
        for (int i = 0; i < EACH_ROW; ++i) {
          const int r = LANE_Y + i * LANES;
          const Real weighted =
              c * weight_of(&s, &look, &block, query, met_tokens[at], block.first + r,
                            own_tokens[r], product[i][j], row_lse);
          map[at * LEFT + r] = weighted;
          dscore[i][j] = weighted * (dscore[i][j] - row_sum);
        }
      }
      SYNCHRONIZE;
      add_products(staged, map, &upstream, met_tokens, dvalues);
      for (int i = 0; i < EACH_ROW; ++i)
        for (int j = 0; j < EACH_OTHER; ++j)
          map[(LANE_X + j * LANES) * LEFT + LANE_Y + i * LANES] = dscore[i][j];
      SYNCHRONIZE;
      add_products(staged, map, &queries, met_tokens, dkeys);
    }
    if (IS_DEFINED(dk))
      put_sums(dkeys, scale, s.add, dk, &s.k[m], &block, s.dim, tokens);
    if (IS_DEFINED(dpadding)) put_padding(dkeys, scale, &s, &block, tokens, s.dim, dpadding);
  }
  if (IS_DEFINED(dv)) put_sums(dvalues, 1, s.add, dv, &s.v, &block, s.width, tokens);
  if (IS_DEFINED(dpadding))
    put_padding(dvalues, 1, &s, &block, tokens, s.width, dpadding + s.dim);
}

// The gradient of the bias of units, (chunks, heads, members, members): a group owns a square of it and
// adds up its chunk of all units of all items.
KERNEL attention_dbias(ATTENTION_INPUTS, TENSOR(const Real, lse), TENSOR(const Stored, dout),
                       TENSOR(const Real, sums), Index chunk, TENSOR(Real, dbias)) {
  OPEN_ATTENTION_INPUTS;
  OPEN(const Real, lse);
  OPEN(const Stored, dout);
  OPEN(const Real, sums);
  OPEN(Real, dbias);
  LOCAL Real staged[STAGED];
  LOCAL Int32 own_tokens[ROWS];
  LOCAL Int32 met_tokens[OTHERS];
  const Index members = s.queries;
  const Index across = (members + OTHERS - 1) / OTHERS;
  const Index down = (members + ROWS - 1) / ROWS;
  const Index of = GROUP / (across * down);
  const Index first = GROUP % across * OTHERS;
  const HeadWalk walk = walk_of_out(&s);
  RowBlock block;
  block.first = GROUP / across % down * ROWS;
  block.head = of % s.heads;
  Real sum[EACH_ROW][EACH_OTHER];
  for (int i = 0; i < EACH_ROW; ++i)
    for (int j = 0; j < EACH_OTHER; ++j) sum[i][j] = 0;
  const Index all = s.batch * s.units;
  const Index begin = of / s.heads * chunk;
  const Index end = begin + chunk < all ? begin + chunk : all;
  for (Index at = begin; at < end; ++at) {
    block.item = at / s.units;
    block.unit = at % s.units;
    if (PLACE < ROWS) own_tokens[PLACE] = query_token(&s, &look, &block, block.first + PLACE);
    if (PLACE < OTHERS) met_tokens[PLACE] = key_token(&s, &look, &block, first + PLACE);
    SYNCHRONIZE;
    const Head upstream = head_of(dout, &walk, &block, s.width);
    const Head values = padded_head(v, &s.v, &block, s.width, look.padding);
    const Head queries = head_of(q, &s.q[0], &block, s.dim);
    const Head keys = padded_head(k, &s.k[0], &block, s.dim, look.padding);
    Real product[EACH_ROW][EACH_OTHER], dfused[EACH_ROW][EACH_OTHER];
    products(staged, &queries, own_tokens, &keys, met_tokens, product);
    products(staged, &upstream, own_tokens, &values, met_tokens, dfused);
    for (int i = 0; i < EACH_ROW; ++i) {
      const int r = LANE_Y + i * LANES;
      const Index query = block.first + r;
      if (query >= members) continue;
      const Real row_lse = lse[lse_row(&s, 0, &block, query)];
      const Real row_sum = sums[lse_row(&s, 0, &block, query)];
      for (int j = 0; j < EACH_OTHER; ++j) {
        const int c = LANE_X + j * LANES;
        sum[i][j] += (dfused[i][j] - row_sum) * weight_of(&s, &look, &block, query, own_tokens[r],
                                                          first + c, met_tokens[c], product[i][j],
                                                          row_lse);
      }
    }
    SYNCHRONIZE;
  }
  for (int i = 0; i < EACH_ROW; ++i) {
    for (int j = 0; j < EACH_OTHER; ++j) {
      const Index query = block.first + LANE_Y + i * LANES;
      const Index key = first + LANE_X + j * LANES;
      if (query < members && key < members)
        dbias[(of * members + query) * members + key] = sum[i][j];
    }
  }
}
