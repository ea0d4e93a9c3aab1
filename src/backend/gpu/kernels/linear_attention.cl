// Linear attention with one map a head, or two over one value stream: first the sums over the keys, in
// pieces of tokens that are added in order, then the queries, a block of rows a group.
#include "types.h"
#include "operations.h"
#include "walk.h"
#include "group.h"
#include "chunk.h"
#include "warp_tile.h"
#include "tile_rows.h"
#include "linear_tile.h"
#include "linear_products.h"
#include "linear_results.h"

#define LINEAR_TOKENS LINEAR_SLICE  // of a piece that are staged at a time
#define LINEAR_PIECE_STRIDE PADDED(PRODUCT_TILE)
#define LINEAR_LOADS (GROUP_SIZE / (PRODUCT_TILE / CHUNK))  // of work items that stage one chunk of a row

#define LOCAL_OF_PIECES                                        \
  LOCAL Stored left[LINEAR_TOKENS * LINEAR_PIECE_STRIDE];      \
  LOCAL Stored right[LINEAR_TOKENS * LINEAR_PIECE_STRIDE];     \
  LOCAL Real part[LINEAR_LOADS * PRODUCT_TILE]

// Sums that work items have of their chunk of a tile's channels added up: channel PLACE's, for the first
// PRODUCT_TILE work items.
FUNCTION Real channel_total(SHARED Real* part, int loader, int column, const Real* sums) {
  SYNCHRONIZE;
  UNROLLED
  for (int c = 0; c < CHUNK; ++c) part[loader * PRODUCT_TILE + column + c] = sums[c];
  SYNCHRONIZE;
  Real total = 0;
  for (int other = 0; other < LINEAR_LOADS; ++other)
    total += part[other * PRODUCT_TILE + PLACE % PRODUCT_TILE];
  return total;
}

// Of a head, the sums over a piece of tokens of: left^T right, a square of PRODUCT_TILE of it a group;
// the rows of the left; those of the right. `stats`, of gradients, has f for the products, dz for the
// left and -g for the right; 0: all are 1. Maps begin with a chunk in the square's rows (LINEAR_DEPTH).
FUNCTION void linear_piece(const LinearShape* s, const LinearBlock* block, Index tokens,
                           const LinearRows* one, const LinearRows* two, const LinearRows* right_rows,
                           GLOBAL const Real* stats, SHARED Stored* left, SHARED Stored* right,
                           SHARED Real* part, GLOBAL Real* partial) {
  const int depth = s->maps * s->dim;
  const int map_depth = LINEAR_DEPTH(s->dim);
  const Index tiles = TILES(s->width);
  const Index all_tiles = TILES(s->maps * map_depth) * tiles;
  const Index piece = GROUP / all_tiles % s->pieces;
  const int d = (int)(GROUP % all_tiles / tiles) * PRODUCT_TILE;
  const int w = (int)(GROUP % tiles) * PRODUCT_TILE;
  const Index end = (piece + 1) * s->piece < tokens ? (piece + 1) * s->piece : tokens;
  // What this work item stages: one chunk of each side.
  const int loader = PLACE / (PRODUCT_TILE / CHUNK);
  const int column = PLACE % (PRODUCT_TILE / CHUNK) * CHUNK;
  const int second = s->maps == 2 && d + column >= map_depth;
  const int channel = d + column - second * map_depth;
  LinearRows left_rows = *one;
  if (second) left_rows = *two;
  const int left_at_once = rows_at_once(&left_rows);
  const int right_at_once = rows_at_once(right_rows);
  Real sums[PRODUCT_SQUARES][SQUARE_SUMS];
  clear_squares(PRODUCT_SQUARES, sums);
  Real left_sum[CHUNK], right_sum[CHUNK];
  UNROLLED
  for (int c = 0; c < CHUNK; ++c) left_sum[c] = right_sum[c] = 0;
  ONE_BY_ONE
  for (Index first = piece * s->piece; first < end; first += LINEAR_TOKENS) {
    ONE_BY_ONE
    for (int t = loader; t < LINEAR_TOKENS; t += LINEAR_LOADS) {
      const Index row = first + t < end ? first + t : tokens;  // none
      Real f = 1, dz = 1, level = 1;
      if (stats && row < tokens) {
        f = stats[row * LINEAR_STATS + second];
        level = stats[row * LINEAR_STATS + 2];
        dz = stats[row * LINEAR_STATS + 5 + second];
      }
      Real x[CHUNK];
      plain_chunk(right_rows, right_at_once, row, w + column, x);
      UNROLLED
      for (int c = 0; c < CHUNK; ++c) right_sum[c] += level * x[c];
      stage_chunk(right + t * LINEAR_PIECE_STRIDE + column, x);
      plain_chunk(&left_rows, left_at_once, row, channel, x);
      UNROLLED
      for (int c = 0; c < CHUNK; ++c) left_sum[c] += dz * x[c];
      turn_chunk(&left_rows, row, channel, x);
      UNROLLED
      for (int c = 0; c < CHUNK; ++c) x[c] *= f;
      stage_chunk(left + t * LINEAR_PIECE_STRIDE + column, x);
    }
    SYNCHRONIZE;
    add_transposed_product(left, LINEAR_PIECE_STRIDE, right, LINEAR_PIECE_STRIDE, LINEAR_TOKENS,
                           s->width - w, PRODUCT_SQUARES, sums);
    SYNCHRONIZE;
  }
  const Index size = depth * s->width + depth + s->width;
  GLOBAL Real* to = partial + (block->number * s->pieces + piece) * size;
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const int row = d + TILE_ROW(2 * i);
    const int of_second = s->maps == 2 && row >= map_depth;
    const int of_map = row - of_second * map_depth;
    if (of_map >= s->dim) continue;
    GLOBAL Real* to_row = to + (of_second * s->dim + of_map) * s->width;
    UNROLLED
    for (int j = 0; j < PRODUCT_SQUARES; ++j)
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e)
        if (IS_LOWER(e) == i && w + TILE_COLUMN(j, e) < s->width)
          to_row[w + TILE_COLUMN(j, e)] = sums[j][e];
  }
  const Real left_total = channel_total(part, loader, column, left_sum);
  const Real right_total = channel_total(part, loader, column, right_sum);
  if (PLACE >= PRODUCT_TILE) return;
  to += depth * s->width;
  const int of_second = s->maps == 2 && d + PLACE >= map_depth;
  const int of_map = d + PLACE - of_second * map_depth;
  if (w == 0 && of_map < s->dim) to[of_second * s->dim + of_map] = left_total;
  if (d == 0 && w + PLACE < s->width) to[depth + w + PLACE] = right_total;
}

// The head whose piece a group sums.
FUNCTION LinearBlock linear_piece_head(const LinearShape* s) {
  const Index tiles = TILES(s->maps * LINEAR_DEPTH(s->dim)) * TILES(s->width);
  return linear_head(s, GROUP / (tiles * s->pieces), 0);
}

// S, s and u of pieces of the keys.
KERNEL linear_key_sums(LINEAR_INPUTS, TENSOR(Real, partial)) {
  OPEN_LINEAR_INPUTS;
  OPEN(Real, partial);
  LOCAL_OF_PIECES;
  const LinearBlock block = linear_piece_head(&s);
  const LinearRows one = key_rows(&s, &in, &block, 0);
  const LinearRows two = key_rows(&s, &in, &block, s.maps - 1);
  const LinearRows values = value_rows(&s, &in, &block);
  linear_piece(&s, &block, s.keys, &one, &two, &values, 0, left, right, part, partial);
}

// The gradients of S (without its parameters), s and u (the same) of pieces of the queries.
KERNEL linear_query_sums(LINEAR_INPUTS, LINEAR_UPSTREAM, TENSOR(const Real, stats),
                         TENSOR(Real, partial)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Real, partial);
  LOCAL_OF_PIECES;
  const LinearBlock block = linear_piece_head(&s);
  const LinearRows one = query_rows(&s, &in, &block, 0);
  const LinearRows two = query_rows(&s, &in, &block, s.maps - 1);
  OPEN_LINEAR_UPSTREAM;
  linear_piece(&s, &block, s.queries, &one, &two, &upstream,
               stats + block.number * s.queries * LINEAR_STATS, left, right, part, partial);
}

// The pieces of all heads added up, each sum by a work item; a piece becomes what lies before it where
// `way` is 1, what lies behind it where that is -1.
KERNEL linear_totals(LinearShape s, Int32 way, TENSOR(Real, partial), TENSOR(Real, products),
                     TENSOR(Real, keys), TENSOR(Real, values)) {
  OPEN(Real, partial);
  OPEN(Real, products);
  OPEN(Real, keys);
  OPEN(Real, values);
  const Index depth = s.maps * s.dim;
  const Index matrix = depth * s.width;
  const Index size = matrix + depth + s.width;
  const Index head = ITEM / size;
  Index at = ITEM % size;
  if (head >= s.batch * s.heads) return;
  GLOBAL Real* part = partial + head * s.pieces * size + at;
  Real sum = 0;
  for (Index i = 0; i < s.pieces; ++i) {
    const Index piece = way < 0 ? s.pieces - 1 - i : i;
    const Real here = part[piece * size];
    if (way != 0) part[piece * size] = sum;
    sum += here;
  }
  if (at < matrix) {
    if (IS_DEFINED(products)) products[head * matrix + at] = sum;
    return;
  }
  at -= matrix;
  if (at < depth) {
    if (IS_DEFINED(keys)) keys[head * depth + at] = sum;
    return;
  }
  if (IS_DEFINED(values)) values[head * s.width + at - depth] = sum;
}

// Causal: the sums s and u up to every token, keys (tokens, dim) and values (tokens, width), from those
// before its piece; or their gradients, of the queries from a token on. A work item has a channel of a
// piece.
KERNEL linear_running(LINEAR_INPUTS, LINEAR_UPSTREAM, TENSOR(const Real, stats), Int32 back,
                      TENSOR(const Real, states), TENSOR(Real, keys), TENSOR(Real, values)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(const Real, states);
  OPEN(Real, keys);
  OPEN(Real, values);
  const Index channels = s.dim + s.width;
  const Index piece = ITEM / channels;
  if (piece >= s.batch * s.heads * s.pieces) return;
  const int of_values = ITEM % channels >= s.dim;
  if (of_values && !IS_DEFINED(values)) return;
  const int channel = (int)(ITEM % channels) - of_values * s.dim;
  const LinearBlock block = linear_head(&s, piece / s.pieces, piece % s.pieces * LINEAR_ROWS);
  OPEN_LINEAR_UPSTREAM;
  LinearRows rows = back ? query_rows(&s, &in, &block, 0) : key_rows(&s, &in, &block, 0);
  if (of_values && back) rows = upstream;
  if (of_values && !back) rows = value_rows(&s, &in, &block);
  const Index width = of_values ? s.width : s.dim;
  GLOBAL Real* to = of_values ? values : keys;
  Real sum = states[piece * (s.dim * s.width + channels) + s.dim * s.width + ITEM % channels];
  for (int i = 0; i < LINEAR_ROWS; ++i) {
    const Index row = block.first + (back ? LINEAR_ROWS - 1 - i : i);
    if (row >= s.keys) continue;
    const Index token = block.number * s.keys + row;
    const Real x = linear_plain(&rows, row, channel);
    sum += back ? x * stats[token * LINEAR_STATS + (of_values ? 2 : 5)] : x;
    to[token * width + channel] = sum;
  }
}

// Causal: the products of every token with those of its block up to its own; of queries and keys, or of
// dy and values.
KERNEL linear_inner(LINEAR_INPUTS, LINEAR_UPSTREAM, Int32 back, TENSOR(Real, inner)) {
  OPEN_LINEAR_INPUTS;
  OPEN(Real, inner);
  LOCAL Stored own_staged[LINEAR_LEFT_STAGED];
  LOCAL Stored met_staged[LINEAR_LEFT_STAGED];
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_UPSTREAM;
  LinearRows own = upstream;
  LinearRows met = value_rows(&s, &in, &block);
  if (!back) {
    own = query_rows(&s, &in, &block, 0);
    met = key_rows(&s, &in, &block, 0);
  }
  Real sums[LINEAR_ROWS / SQUARE_STEP][SQUARE_SUMS];
  clear_squares(LINEAR_ROWS / SQUARE_STEP, sums);
  int first = 0;
  do {
    const int depth = whole_steps(fewer(own.dim - first, LINEAR_SLICE));
    stage_rows(own_staged, LINEAR_LEFT_STRIDE, &own, block.first, LINEAR_ROWS, first, depth);
    stage_rows(met_staged, LINEAR_LEFT_STRIDE, &met, block.first, LINEAR_ROWS, first, depth);
    SYNCHRONIZE;
    add_product_of_rows(own_staged, LINEAR_LEFT_STRIDE, met_staged, LINEAR_LEFT_STRIDE, depth,
                        LINEAR_ROWS, LINEAR_ROWS / SQUARE_STEP, sums);
    SYNCHRONIZE;
    first += LINEAR_SLICE;
  } while (first < own.dim);
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const Index row = block.first + TILE_ROW(2 * i);
    if (row >= s.queries) continue;
    GLOBAL Real* to = inner + (block.number * s.queries + row) * LINEAR_ROWS;
    UNROLLED
    for (int j = 0; j < LINEAR_ROWS / SQUARE_STEP; ++j)
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e)
        if (IS_LOWER(e) == i)
          to[TILE_COLUMN(j, e)] = TILE_COLUMN(j, e) <= TILE_ROW(e) ? sums[j][e] : (Real)0;
  }
}

// Of every query z, and what its similarities and levels are multiplied by. Eight work items share a row.
KERNEL linear_weights(LINEAR_INPUTS, LINEAR_SUMS, TENSOR(Real, stats)) {
  OPEN_LINEAR_INPUTS;
  OPEN(Real, stats);
  LOCAL Real shared[GROUP_SIZE];
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_SUMS(stats);
  int map = 0;
  do {
    const LinearRows queries = query_rows(&s, &in, &block, map);
    const int at_once = rows_at_once(&queries);
    for (int at = PLACE / 8; at < LINEAR_ROWS; at += GROUP_SIZE / 8) {
      const Index row = block.first + at;
      GLOBAL const Real* keys = sums.keys + row * sums.key_step + map * s.dim;
      Real z = 0;
      for (int channel = PLACE % 8 * CHUNK; row < s.queries && channel < s.dim;
           channel += 8 * CHUNK) {
        Real x[CHUNK];
        plain_chunk(&queries, at_once, row, channel, x);
        UNROLLED
        for (int c = 0; c < CHUNK; ++c)
          if (channel + c < s.dim) z += x[c] * keys[channel + c];
      }
      z = team_sum(8, shared, z);
      if (PLACE % 8 == 0 && row < s.queries) {
        const Real seen = keys_seen(&s, &in, &block, row);
        const Real c = similarity_scale(&s, &in, seen);
        const Real sum = s.at_least_eps && c * z < in.eps ? in.eps : c * z;
        const Real inverse = 1 / (sum + in.eps);
        GLOBAL Real* to = stats + (block.number * s.queries + row) * LINEAR_STATS;
        to[map] = !s.by_magnitude ? inverse : s.by_beta ? c * (1 + inverse) : c;
        to[2] = s.by_gamma ? -sum / seen : in.gamma ? (Real)-1 : (Real)0;
        to[3 + map] = sum;
      }
    }
    ++map;
  } while (map < s.maps);
}

KERNEL linear_attention(LINEAR_INPUTS, LINEAR_SUMS, TENSOR(const Real, stats),
                        LINEAR_FINISH, TENSOR(Stored, out)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Stored, out);
  LOCAL Stored staged[LINEAR_STAGED];
  LOCAL Real part[ROW_PARTS];
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_SUMS(stats);
  OPEN_LINEAR_FINISH;
  Real y[LINEAR_SQUARES][SQUARE_SUMS];
  Real rstd[2];
  linear_results(&s, &in, &block, &sums, staged, y);
  inverse_rms(&s, &finish, part, y, rstd);
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const Index row = block.first + TILE_ROW(2 * i);
    UNROLLED
    for (int j = 0; j < LINEAR_SQUARES; ++j) {
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        const int w = TILE_COLUMN(j, e);
        if (IS_LOWER(e) != i || row >= s.queries || w >= s.width) continue;
        if (finish.weight) y[j][e] *= rstd[i] * finish.weight[w];
        y[j][e] += residual_at(&s, &finish, row, w);
        if (finish.gate)
          y[j][e] *= gate_value(s.gate_op, load(finish.gate, row * s.gate.token + w));
      }
    }
  }
  put_block(y, 0, out, &s.out, &block, s.queries, s.width);
}
