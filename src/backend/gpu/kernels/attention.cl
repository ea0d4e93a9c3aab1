// Softmax attention with one map a head, or two maps over one value stream, of all keys or inside units of
// tokens. A group owns a block of queries and meets the keys a block at a time: the softmax is kept up as
// it goes (Milakov and Gimelshein, arXiv 1805.02867), so that no map exists as a whole. Weights are
// multiplied with values as they are stored; their sums are not rounded.
#include "types.h"
#include "operations.h"
#include "walk.h"
#include "group.h"
#include "warp_tile.h"
#include "tile_rows.h"
#include "attention_tile.h"

// result += one map's, (rows, channels). Writes the log-sum-exp, and what the map alone gives unless
// map_results is 0.
FUNCTION void attend(const AttentionShape* s, const Inputs* in, const RowBlock* block, int map_index,
                     const Head* q, const Head* k, const Head* v,
                     SHARED const Int32* own_tokens, SHARED Int32* met_tokens,
                     SHARED Stored* own_staged, SHARED Stored* met_staged, SHARED Stored* map,
                     SHARED Real* part, GLOBAL Real* lse, GLOBAL Stored* map_results,
                     Real (*result)[SQUARE_SUMS]) {
  Real sums[HEAD_SQUARES][SQUARE_SUMS];
  Real top[2], weights[2];  // weights: of this lane's columns
  for (int i = 0; i < 2; ++i) {
    top[i] = -INFINITY;
    weights[i] = 0;
  }
  clear_squares(HEAD_SQUARES, sums);
  stage_own(own_staged, q, own_tokens);
  const int end = keys_before(s, block->first + ROWS);
  for (int first = 0; first < end; first += OTHERS) {
    if (PLACE < OTHERS) met_tokens[PLACE] = key_token(s, in, block, first + PLACE);
    Real scores[MAP_SQUARES][SQUARE_SUMS];
    multiply_heads(own_staged, q, own_tokens, met_staged, k, met_tokens, scores);
    Real most[2];
    for (int i = 0; i < 2; ++i) most[i] = top[i];
    for (int j = 0; j < MAP_SQUARES; ++j) {
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        const int row = TILE_ROW(e);
        const int column = TILE_COLUMN(j, e);
        const int query = block->first + row;
        const int key = first + column;
        scores[j][e] = is_allowed(s, query, own_tokens[row], key, met_tokens[column])
                           ? score_of(s, in, block, query, key, scores[j][e])
                           : -INFINITY;
        if (scores[j][e] > most[IS_LOWER(e)]) most[IS_LOWER(e)] = scores[j][e];
      }
    }
    join_rows(ReduceMax, part, most);

    Real shift[2], kept[2];
    for (int i = 0; i < 2; ++i) {
      // (Of a row without an allowed key so far every weight is exp(-inf).)
      shift[i] = most[i] == -INFINITY ? (Real)0 : most[i];
      kept[i] = exp(top[i] - shift[i]);
      weights[i] *= kept[i];
      top[i] = most[i];
    }
    for (int j = 0; j < MAP_SQUARES; ++j) {
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        scores[j][e] = exp(scores[j][e] - shift[IS_LOWER(e)]);
        weights[IS_LOWER(e)] += scores[j][e];
      }
    }
    put_map(map, scores);
    for (int j = 0; j < HEAD_SQUARES; ++j)
      for (int e = 0; e < SQUARE_SUMS; ++e) sums[j][e] *= kept[IS_LOWER(e)];
    add_map_product(map, met_staged, v, met_tokens, 0, sums);
  }

  SYNCHRONIZE;
  join_rows(ReduceSum, part, weights);
  NO_EARLIER;
  Real factors[2];
  for (int i = 0; i < 2; ++i) {
    const int row = TILE_ROW(2 * i);
    const int query = block->first + row;
    factors[i] = weights[i] != 0 ? 1 / weights[i] : (Real)0;
    if (LANE_OF_ROW == 0 && query < s->queries)
      lse[lse_row(s, map_index, block, query)] =
          own_tokens[row] == NOBODY ? (Real)0 : top[i] + log(weights[i]);
  }
  for (int j = 0; j < HEAD_SQUARES; ++j)
    for (int e = 0; e < SQUARE_SUMS; ++e) sums[j][e] *= factors[IS_LOWER(e)];
  if (map_results) {
    const HeadWalk walk = walk_of_out(s);
    const int tokens[2] = {own_tokens[TILE_ROW(0)], own_tokens[TILE_ROW(2)]};
    put_sums(sums, 1, 0, map_results + map_index * s->batch * walk.item, &walk, block, s->width,
             tokens);
  }
  for (int i = 0; i < 2; ++i) {
    const int query = block->first + TILE_ROW(2 * i);
    factors[i] = query < s->queries ? coefficient(s, in, block, map_index, query) : (Real)0;
  }
  for (int j = 0; j < HEAD_SQUARES; ++j)
    for (int e = 0; e < SQUARE_SUMS; ++e) result[j][e] += sums[j][e] * factors[IS_LOWER(e)];
}

// map_results: (maps, batch, queries, heads * width), or undefined; without units.
KERNEL attention(ATTENTION_INPUTS, TENSOR(Stored, out), TENSOR(Real, lse),
                 TENSOR(Stored, map_results)) {
  OPEN_ATTENTION_INPUTS;
  OPEN(Stored, out);
  OPEN(Real, lse);
  OPEN(Stored, map_results);
  LOCAL Stored own_staged[OWN_STAGED];
  LOCAL Stored met_staged[MET_STAGED];
  LOCAL Stored map[MAP_STAGED];
  LOCAL Real part[ROW_PARTS];
  LOCAL Int32 own_tokens[ROWS];
  LOCAL Int32 met_tokens[OTHERS];
  const RowBlock block = block_of(&s, s.queries);
  if (PLACE < ROWS) own_tokens[PLACE] = query_token(&s, &in, &block, block.first + PLACE);
  SYNCHRONIZE;
  const Head values = value_head(&s, &in, &block);
  Real result[HEAD_SQUARES][SQUARE_SUMS];
  clear_squares(HEAD_SQUARES, result);
  for (int i = 0; i < s.maps; ++i) {
    const Head queries = query_head(&s, &in, &block, i);
    const Head keys = key_head(&s, &in, &block, i);
    attend(&s, &in, &block, i, &queries, &keys, &values, own_tokens, met_tokens, own_staged,
           met_staged, map, part, lse, IS_DEFINED(map_results) ? map_results : 0, result);
    SYNCHRONIZE;
  }
  const HeadWalk walk = walk_of_out(&s);
  const int tokens[2] = {own_tokens[TILE_ROW(0)], own_tokens[TILE_ROW(2)]};
  put_sums(result, 1, 0, out, &walk, &block, s.width, tokens);
}
