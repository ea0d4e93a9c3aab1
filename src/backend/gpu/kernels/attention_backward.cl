// Gradients of attention.cl. With the fused map A = sum_i c_i P_i and its gradient dA = dout v^T,
//   dS_i = c_i P_i (dA - t_i),  t_i = the row's sum of P_i dA,  which is the gradient of c_i:
// first all t, of all keys, or of what each map gave: t_i = dout . (P_i v). Then a group owns queries and
// makes dq, or owns keys and makes dk and dv, each from the maps made again from the log-sum-exp, so that
// no two groups add to one place. dgsa 2.2 (backward).
#include "types.h"
#include "operations.h"
#include "walk.h"
#include "group.h"
#include "warp_tile.h"
#include "tile_rows.h"
#include "attention_tile.h"

// P of a score that may not be.
FUNCTION Real weight_of(const AttentionShape* s, const Inputs* in, const RowBlock* block, int query,
                        int query_is, int key, int key_is, Real product, Real lse) {
  if (!is_allowed(s, query, query_is, key, key_is) || lse == -INFINITY) return 0;
  return exp(score_of(s, in, block, query, key, product) - lse);
}

// What gradients need to know of a query's row of a map.
typedef struct {
  Real lse, sum, c;
} QueryRow;

FUNCTION QueryRow query_row(const AttentionShape* s, const Inputs* in, const RowBlock* block,
                            int map, int query, GLOBAL const Real* lse, GLOBAL const Real* sums) {
  QueryRow row;
  row.lse = row.sum = row.c = 0;
  if (query >= s->queries) return row;
  row.lse = lse[lse_row(s, map, block, query)];
  if (!sums) return row;
  row.sum = sums[lse_row(s, map, block, query)];
  row.c = coefficient(s, in, block, map, query);
  return row;
}

// The gradient of the result.
FUNCTION Head upstream_head(const AttentionShape* s, GLOBAL const Stored* dout, const RowBlock* block) {
  const HeadWalk walk = walk_of_out(s);
  return head_of(dout, &walk, block, s->width, 0);
}

// How every kernel of gradients begins, and one whose group owns a block of rows, queries or keys.
#define GRADIENT_INPUTS ATTENTION_INPUTS, TENSOR(const Real, lse), TENSOR(const Stored, dout)
#define OPEN_GRADIENT_INPUTS                                                                    \
  OPEN_ATTENTION_INPUTS;                                                                        \
  OPEN(const Real, lse);                                                                        \
  OPEN(const Stored, dout);                                                                     \
  LOCAL Stored met_staged[MET_STAGED];                                                          \
  LOCAL Int32 own_tokens[ROWS];                                                                 \
  LOCAL Int32 met_tokens[OTHERS]
#define OPEN_BLOCK(rows, token)                                                                 \
  const RowBlock block = block_of(&s, rows);                                                    \
  if (PLACE < ROWS) own_tokens[PLACE] = token(&s, &in, &block, block.first + PLACE);            \
  SYNCHRONIZE;                                                                                  \
  const Head upstream = upstream_head(&s, dout, &block);                                        \
  const Head values = value_head(&s, &in, &block)

// Writes t of one query's row of a map, of the head of a block.
FUNCTION void put_row_sum(const AttentionShape* s, const RowBlock* block, int map, int query,
                          Real sum, GLOBAL Real* sums, GLOBAL Stored* dc) {
  sums[lse_row(s, map, block, query)] = sum;
  if (dc) store(dc, coefficient_row(s, block, query), sum);
}

// t, (maps, batch, heads, units, queries), and the gradients of c if they are wanted, by a pass over all
// keys.
KERNEL attention_row_sums(GRADIENT_INPUTS, TENSOR(Real, sums), TENSOR(Stored, dc1),
                          TENSOR(Stored, dc2)) {
  OPEN_GRADIENT_INPUTS;
  OPEN(Real, sums);
  LOCAL Stored queries_staged[OWN_STAGED];
  LOCAL Stored upstream_staged[OWN_STAGED];
  LOCAL Real part[ROW_PARTS];
  OPEN_BLOCK(s.queries, query_token);
  const int end = keys_before(&s, block.first + ROWS);
  stage_own(upstream_staged, &upstream, own_tokens);
  for (int m = 0; m < s.maps; ++m) {
    const Head queries = query_head(&s, &in, &block, m);
    const Head keys = key_head(&s, &in, &block, m);
    Real sum[2], row_lse[2];
    for (int i = 0; i < 2; ++i) {
      sum[i] = 0;
      row_lse[i] = query_row(&s, &in, &block, m, block.first + TILE_ROW(2 * i), lse, 0).lse;
    }
    stage_own(queries_staged, &queries, own_tokens);
    for (int first = 0; first < end; first += OTHERS) {
      if (PLACE < OTHERS) met_tokens[PLACE] = key_token(&s, &in, &block, first + PLACE);
      Real scores[MAP_SQUARES][SQUARE_SUMS], dfused[MAP_SQUARES][SQUARE_SUMS];
      multiply_heads(upstream_staged, &upstream, own_tokens, met_staged, &values, met_tokens,
                     dfused);
      multiply_heads(queries_staged, &queries, own_tokens, met_staged, &keys, met_tokens, scores);
      for (int j = 0; j < MAP_SQUARES; ++j) {
        for (int e = 0; e < SQUARE_SUMS; ++e) {
          const int row = TILE_ROW(e);
          const int column = TILE_COLUMN(j, e);
          sum[IS_LOWER(e)] +=
              dfused[j][e] * weight_of(&s, &in, &block, block.first + row, own_tokens[row],
                                       first + column, met_tokens[column], scores[j][e],
                                       row_lse[IS_LOWER(e)]);
        }
      }
      SYNCHRONIZE;
    }
    join_rows(ReduceSum, part, sum);
    for (int i = 0; i < 2; ++i) {
      const int query = block.first + TILE_ROW(2 * i);
      if (LANE_OF_ROW > 0 || query >= s.queries) continue;
      GLOBAL Stored* dc = m == 0 ? dc1_memory : dc2_memory;
      if (dc) dc += m == 0 ? dc1_first : dc2_first;
      put_row_sum(&s, &block, m, query, sum[i], sums, dc);
    }
    SYNCHRONIZE;
  }
}

// The same without units, of `results`, (maps, batch, queries, heads, width): what each map gave. A row of
// it belongs to a team (group.h).
KERNEL attention_result_sums(Rows rows, AttentionShape s, TENSOR(const Stored, dout),
                             TENSOR(const Stored, results), TENSOR(Real, sums),
                             TENSOR(Stored, dc1), TENSOR(Stored, dc2)) {
  OPEN(const Stored, dout);
  OPEN(const Stored, results);
  OPEN(Real, sums);
  LOCAL Real shared[GROUP_SIZE];
  const Index row = row_of(&rows);
  const Index n = length_of(&rows, row);
  const Index of_map = rows.count / s.maps;
  Real sum = 0;
  for (Index i = PLACE % rows.team; i < n; i += rows.team)
    sum += load(dout, row % of_map * n + i) * load(results, row * n + i);
  sum = team_sum(rows.team, shared, sum);
  if (PLACE % rows.team != 0 || row >= rows.count) return;
  RowBlock block;
  block.unit = 0;
  block.head = (int)(row % s.heads);
  block.item = (int)(row / (s.heads * s.queries) % s.batch);
  const int map = (int)(row / of_map);
  GLOBAL Stored* dc = map == 0 ? dc1_memory : dc2_memory;
  if (dc) dc += map == 0 ? dc1_first : dc2_first;
  put_row_sum(&s, &block, map, (int)(row / s.heads % s.queries), sum, sums, dc);
}

KERNEL attention_dq(GRADIENT_INPUTS, TENSOR(const Real, sums), TENSOR(Stored, dq)) {
  OPEN_GRADIENT_INPUTS;
  OPEN(const Real, sums);
  OPEN(Stored, dq);
  LOCAL Stored queries_staged[OWN_STAGED];
  LOCAL Stored upstream_staged[OWN_STAGED];
  LOCAL Stored map[MAP_STAGED];
  OPEN_BLOCK(s.queries, query_token);
  const int end = keys_before(&s, block.first + ROWS);
  stage_own(upstream_staged, &upstream, own_tokens);
  for (int m = 0; m < s.maps; ++m) {
    const Head queries = query_head(&s, &in, &block, m);
    const Head keys = key_head(&s, &in, &block, m);
    Real dqueries[HEAD_SQUARES][SQUARE_SUMS];
    clear_squares(HEAD_SQUARES, dqueries);
    QueryRow rows[2];
    for (int i = 0; i < 2; ++i)
      rows[i] = query_row(&s, &in, &block, m, block.first + TILE_ROW(2 * i), lse, sums);
    stage_own(queries_staged, &queries, own_tokens);
    for (int first = 0; first < end; first += OTHERS) {
      if (PLACE < OTHERS) met_tokens[PLACE] = key_token(&s, &in, &block, first + PLACE);
      Real scores[MAP_SQUARES][SQUARE_SUMS], dscores[MAP_SQUARES][SQUARE_SUMS];
      multiply_heads(upstream_staged, &upstream, own_tokens, met_staged, &values, met_tokens,
                     dscores);
      multiply_heads(queries_staged, &queries, own_tokens, met_staged, &keys, met_tokens, scores);
      for (int j = 0; j < MAP_SQUARES; ++j) {
        for (int e = 0; e < SQUARE_SUMS; ++e) {
          const int row = TILE_ROW(e);
          const int column = TILE_COLUMN(j, e);
          const QueryRow is = rows[IS_LOWER(e)];
          dscores[j][e] = is.c * (dscores[j][e] - is.sum) *
                          weight_of(&s, &in, &block, block.first + row, own_tokens[row],
                                    first + column, met_tokens[column], scores[j][e], is.lse);
        }
      }
      put_map(map, dscores);
      add_map_product(map, met_staged, &keys, met_tokens, STAYS(s.dim), dqueries);
    }
    const int tokens[2] = {own_tokens[TILE_ROW(0)], own_tokens[TILE_ROW(2)]};
    put_sums(dqueries, scale, s.add, dq, &s.q[m], &block, s.dim, tokens);
    SYNCHRONIZE;
  }
}

// Rows at padding, and zeros in place of the others; a row after the other, as put_sums.
FUNCTION void put_padding(Real (*sums)[SQUARE_SUMS], Real factor, const AttentionShape* s,
                          const RowBlock* block, const int* tokens, int dim, GLOBAL Real* to) {
  const int channels = dim - FIRST_COLUMN;
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const int key = block->first + TILE_ROW(2 * i);
    if (key >= s->keys) continue;
    const int is_padding = tokens[i] == PADDING;
    GLOBAL Real* row = to + lse_row(s, 0, block, key) * (s->dim + s->width) + FIRST_COLUMN;
    UNROLLED
    for (int j = 0; j < HEAD_SQUARES; ++j) {
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        if (IS_LOWER(e) == i && COLUMNS_AWAY(j, e) < channels)
          row[COLUMNS_AWAY(j, e)] = is_padding ? sums[j][e] * factor : (Real)0;
      }
    }
  }
}

// What tensor cores take of TF32 leaves too few registers for two groups at once.
#ifdef ALLOW_TF32
#define KEYS_KERNEL LARGE_KERNEL
#else
#define KEYS_KERNEL KERNEL
#endif

// dpadding: (batch, heads, units, keys, dim + width), or undefined.
KEYS_KERNEL attention_dk_dv(GRADIENT_INPUTS, TENSOR(const Real, sums), TENSOR(Stored, dk),
                            TENSOR(Stored, dv), TENSOR(Real, dpadding)) {
  OPEN_GRADIENT_INPUTS;
  OPEN(const Real, sums);
  OPEN(Stored, dk);
  OPEN(Stored, dv);
  OPEN(Real, dpadding);
  LOCAL Stored keys_staged[OWN_STAGED];
  LOCAL Stored values_staged[OWN_STAGED];
  LOCAL Stored map[MAP_STAGED];
  OPEN_BLOCK(s.keys, key_token);
  // Keys that nobody may attend to have gradients too: zeros.
  int tokens[2];
  for (int i = 0; i < 2; ++i)
    tokens[i] = token_of(&in, block.unit, block.first + TILE_ROW(2 * i), s.keys);
  // The first query that sees one of the keys.
  const int earliest = s.causal ? block.first - (int)(s.keys - s.queries) : 0;
  const int begin = earliest < 0 ? 0 : earliest / OTHERS * OTHERS;
  Real dvalues[HEAD_SQUARES][SQUARE_SUMS];
  clear_squares(HEAD_SQUARES, dvalues);
  stage_own(values_staged, &values, own_tokens);
  for (int m = 0; m < s.maps; ++m) {
    const Head queries = query_head(&s, &in, &block, m);
    const Head keys = key_head(&s, &in, &block, m);
    Real dkeys[HEAD_SQUARES][SQUARE_SUMS];
    clear_squares(HEAD_SQUARES, dkeys);
    stage_own(keys_staged, &keys, own_tokens);
    for (int first = begin; first < s.queries; first += OTHERS) {
      if (PLACE < OTHERS) met_tokens[PLACE] = query_token(&s, &in, &block, first + PLACE);
      Real weights[MAP_SQUARES][SQUARE_SUMS], dscores[MAP_SQUARES][SQUARE_SUMS];
      multiply_heads(keys_staged, &keys, own_tokens, met_staged, &queries, met_tokens, weights);
      for (int j = 0; j < MAP_SQUARES; ++j) {
        for (int e = 0; e < SQUARE_SUMS; ++e) {
          const int column = TILE_COLUMN(j, e);
          const int row = TILE_ROW(e);
          const int query = first + column;
          const QueryRow of = query_row(&s, &in, &block, m, query, lse, sums);
          weights[j][e] = of.c * weight_of(&s, &in, &block, query, met_tokens[column],
                                           block.first + row, own_tokens[row], weights[j][e],
                                           of.lse);
        }
      }
      put_map(map, weights);
      multiply_heads(values_staged, &values, own_tokens, met_staged, &upstream, met_tokens,
                     dscores);
      for (int j = 0; j < MAP_SQUARES; ++j) {
        for (int e = 0; e < SQUARE_SUMS; ++e) {
          const int query = first + TILE_COLUMN(j, e);
          const Real sum = query < s.queries ? sums[lse_row(&s, m, &block, query)] : (Real)0;
          dscores[j][e] = weights[j][e] * (dscores[j][e] - sum);
        }
      }
      add_map_product(map, met_staged, &upstream, met_tokens, STAYS(s.width), dvalues);
      SYNCHRONIZE;
      put_map(map, dscores);
      add_map_product(map, met_staged, &queries, met_tokens, 0, dkeys);
    }
    if (IS_DEFINED(dk)) put_sums(dkeys, scale, s.add, dk, &s.k[m], &block, s.dim, tokens);
    if (IS_DEFINED(dpadding)) put_padding(dkeys, scale, &s, &block, tokens, s.dim, dpadding);
    SYNCHRONIZE;
  }
  if (IS_DEFINED(dv)) put_sums(dvalues, 1, s.add, dv, &s.v, &block, s.width, tokens);
  if (IS_DEFINED(dpadding))
    put_padding(dvalues, 1, &s, &block, tokens, s.width, dpadding + s.dim);
}

#undef KEYS_KERNEL

// The gradient of the bias of units, (chunks, heads, members, members): a group owns a square of it and
// adds up its chunk of all units of all items.
KERNEL attention_dbias(GRADIENT_INPUTS, TENSOR(const Real, sums), Index chunk,
                       TENSOR(Real, dbias)) {
  OPEN_GRADIENT_INPUTS;
  OPEN(const Real, sums);
  OPEN(Real, dbias);
  LOCAL Stored own_staged[OWN_STAGED];
  const Index members = s.queries;
  const Index across = (members + OTHERS - 1) / OTHERS;
  const Index down = (members + ROWS - 1) / ROWS;
  const Index of = GROUP / (across * down);
  const int first = (int)(GROUP % across) * OTHERS;
  RowBlock block;
  block.first = (int)(GROUP / across % down) * ROWS;
  block.head = (int)(of % s.heads);
  Real sum[MAP_SQUARES][SQUARE_SUMS];
  clear_squares(MAP_SQUARES, sum);
  const Index all = s.batch * s.units;
  const Index begin = of / s.heads * chunk;
  const Index end = begin + chunk < all ? begin + chunk : all;
  for (Index at = begin; at < end; ++at) {
    block.item = (int)(at / s.units);
    block.unit = (int)(at % s.units);
    if (PLACE < ROWS) own_tokens[PLACE] = query_token(&s, &in, &block, block.first + PLACE);
    if (PLACE < OTHERS) met_tokens[PLACE] = key_token(&s, &in, &block, first + PLACE);
    SYNCHRONIZE;
    const Head upstream = upstream_head(&s, dout, &block);
    const Head values = value_head(&s, &in, &block);
    const Head queries = query_head(&s, &in, &block, 0);
    const Head keys = key_head(&s, &in, &block, 0);
    Real scores[MAP_SQUARES][SQUARE_SUMS], dfused[MAP_SQUARES][SQUARE_SUMS];
    stage_own(own_staged, &queries, own_tokens);
    multiply_heads(own_staged, &queries, own_tokens, met_staged, &keys, met_tokens, scores);
    SYNCHRONIZE;
    stage_own(own_staged, &upstream, own_tokens);
    multiply_heads(own_staged, &upstream, own_tokens, met_staged, &values, met_tokens, dfused);
    QueryRow rows[2];
    for (int i = 0; i < 2; ++i)
      rows[i] = query_row(&s, &in, &block, 0, block.first + TILE_ROW(2 * i), lse, sums);
    for (int j = 0; j < MAP_SQUARES; ++j) {
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        const int row = TILE_ROW(e);
        const int column = TILE_COLUMN(j, e);
        const QueryRow is = rows[IS_LOWER(e)];
        sum[j][e] += (dfused[j][e] - is.sum) *
                     weight_of(&s, &in, &block, block.first + row, own_tokens[row], first + column,
                               met_tokens[column], scores[j][e], is.lse);
      }
    }
    SYNCHRONIZE;
  }
  for (int j = 0; j < MAP_SQUARES; ++j) {
    for (int e = 0; e < SQUARE_SUMS; ++e) {
      const Index query = block.first + TILE_ROW(e);
      const Index key = first + TILE_COLUMN(j, e);
      if (query < members && key < members)
        dbias[(of * members + query) * members + key] = sum[j][e];
    }
  }
}
