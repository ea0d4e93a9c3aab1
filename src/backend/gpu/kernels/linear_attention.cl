// Linear attention with one map a head, or two over one value stream: first the sums over the keys, in
// pieces of tokens that are added in order, then the queries, a block of rows a group.
#include "types.h"
#include "operations.h"
#include "walk.h"
#include "linear_tile.h"
#include "linear_results.h"

#define LINEAR_TOKENS 32  // of a piece that are staged at a time
#define LINEAR_LOADS (GROUP_SIZE / LINEAR_TILE)
#define TILE_D(i) (DOWN + (i)*16)
#define TILE_W(j) (ACROSS + (j)*16)
#define LINEAR_EACH_TILE (LINEAR_TILE / 16)

// Of a head, the sums over a piece of tokens of: left^T right, a square of LINEAR_TILE of it a group;
// the rows of the left; those of the right. `stats`, of gradients, has f for the products, dz for the
// left and -g for the right; 0: all are 1.
FUNCTION void linear_piece(const LinearShape* s, const LinearBlock* block, Index tokens,
                           const LinearRows* one, const LinearRows* two, const LinearRows* right_rows,
                           GLOBAL const Real* stats, SHARED Real* left, SHARED Real* right,
                           GLOBAL Real* partial) {
  const Index depth = s->maps * s->dim;
  const Index tiles = (s->width + LINEAR_TILE - 1) / LINEAR_TILE;
  const Index all_tiles = (depth + LINEAR_TILE - 1) / LINEAR_TILE * tiles;
  const Index piece = GROUP / all_tiles % s->pieces;
  const int d = (int)(GROUP % all_tiles / tiles) * LINEAR_TILE;
  const int w = (int)(GROUP % tiles) * LINEAR_TILE;
  const Index end = (piece + 1) * s->piece < tokens ? (piece + 1) * s->piece : tokens;
  // What this work item stages: one column of each side.
  const int column = PLACE % LINEAR_TILE;
  const int second = s->maps == 2 && d + column >= s->dim;
  const int channel = d + column - second * s->dim;
  LinearRows left_rows = *one;
  if (second) left_rows = *two;
  Real sums[LINEAR_EACH_TILE][LINEAR_EACH_TILE];
  for (int i = 0; i < LINEAR_EACH_TILE; ++i)
    for (int j = 0; j < LINEAR_EACH_TILE; ++j) sums[i][j] = 0;
  Real left_sum = 0, right_sum = 0;
  for (Index first = piece * s->piece; first < end; first += LINEAR_TOKENS) {
    for (int t = PLACE / LINEAR_TILE; t < LINEAR_TOKENS; t += LINEAR_LOADS) {
      const Index row = first + t;
      const int there = row < end;
      Real f = 1, dz = 1, level = 1;
      if (stats && there) {
        f = stats[row * LINEAR_STATS + second];
        level = stats[row * LINEAR_STATS + 2];
        dz = stats[row * LINEAR_STATS + 5 + second];
      }
      const Real value = there ? linear_element(right_rows, row, w + column) : (Real)0;
      const Real plain = there ? linear_plain(&left_rows, row, channel) : (Real)0;
      const Real turned = left_rows.cosines && there ? linear_element(&left_rows, row, channel) : plain;
      left[t * LINEAR_TILE + column] = f * turned;
      right[t * LINEAR_TILE + column] = value;
      left_sum += dz * plain;
      right_sum += level * value;
    }
    SYNCHRONIZE;
    for (int t = 0; t < LINEAR_TOKENS; ++t) {
      Real u[LINEAR_EACH_TILE];
      for (int i = 0; i < LINEAR_EACH_TILE; ++i) u[i] = left[t * LINEAR_TILE + TILE_D(i)];
      for (int j = 0; j < LINEAR_EACH_TILE; ++j) {
        if (w + j * 16 >= s->width) continue;
        const Real v = right[t * LINEAR_TILE + TILE_W(j)];
        for (int i = 0; i < LINEAR_EACH_TILE; ++i) sums[i][j] += u[i] * v;
      }
    }
    SYNCHRONIZE;
  }
  const Index size = depth * s->width + depth + s->width;
  GLOBAL Real* to = partial + (block->number * s->pieces + piece) * size;
  for (int i = 0; i < LINEAR_EACH_TILE; ++i)
    for (int j = 0; j < LINEAR_EACH_TILE; ++j)
      if (d + TILE_D(i) < depth && w + TILE_W(j) < s->width)
        to[(d + TILE_D(i)) * s->width + w + TILE_W(j)] = sums[i][j];
  left[PLACE] = left_sum;
  right[PLACE] = right_sum;
  SYNCHRONIZE;
  if (PLACE >= LINEAR_TILE) return;
  for (int other = 1; other < LINEAR_LOADS; ++other) {
    left_sum += left[other * LINEAR_TILE + PLACE];
    right_sum += right[other * LINEAR_TILE + PLACE];
  }
  to += depth * s->width;
  if (w == 0 && d + PLACE < depth) to[d + PLACE] = left_sum;
  if (d == 0 && w + PLACE < s->width) to[depth + w + PLACE] = right_sum;
}

// The head whose piece a group sums.
FUNCTION LinearBlock linear_piece_head(const LinearShape* s) {
  const Index tiles = (s->maps * s->dim + LINEAR_TILE - 1) / LINEAR_TILE *
                      ((s->width + LINEAR_TILE - 1) / LINEAR_TILE);
  return linear_head(s, GROUP / (tiles * s->pieces), 0);
}

// S, s and u of pieces of the keys.
KERNEL linear_key_sums(LINEAR_INPUTS, TENSOR(Real, partial)) {
  OPEN_LINEAR_INPUTS;
  OPEN(Real, partial);
  LOCAL Real left[LINEAR_TOKENS * LINEAR_TILE];
  LOCAL Real right[LINEAR_TOKENS * LINEAR_TILE];
  const LinearBlock block = linear_piece_head(&s);
  const LinearRows one = key_rows(&s, &in, &block, 0);
  const LinearRows two = key_rows(&s, &in, &block, s.maps - 1);
  const LinearRows values = value_rows(&s, &in, &block);
  linear_piece(&s, &block, s.keys, &one, &two, &values, 0, left, right, partial);
}

// The gradients of S (without its parameters), s and u (the same) of pieces of the queries.
KERNEL linear_query_sums(LINEAR_INPUTS, LINEAR_UPSTREAM, TENSOR(const Real, stats),
                         TENSOR(Real, partial)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Real, partial);
  LOCAL Real left[LINEAR_TOKENS * LINEAR_TILE];
  LOCAL Real right[LINEAR_TOKENS * LINEAR_TILE];
  const LinearBlock block = linear_piece_head(&s);
  const LinearRows one = query_rows(&s, &in, &block, 0);
  const LinearRows two = query_rows(&s, &in, &block, s.maps - 1);
  OPEN_LINEAR_UPSTREAM;
  linear_piece(&s, &block, s.queries, &one, &two, &upstream,
               stats + block.number * s.queries * LINEAR_STATS, left, right, partial);
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
  LOCAL Real staged[LINEAR_STAGED];
  SHARED Real* right = staged + LINEAR_STEP * LINEAR_LEFT;
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_UPSTREAM;
  LinearRows own = upstream;
  LinearRows met = value_rows(&s, &in, &block);
  if (!back) {
    own = query_rows(&s, &in, &block, 0);
    met = key_rows(&s, &in, &block, 0);
  }
  Real sum[LINEAR_EACH_ROW][LINEAR_EACH];
  clear_rows(sum);
  int first = 0;
  do {
    UNROLLED
    for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
      const Index row = block.first + OWN_ROW(i);
      staged[ACROSS * LINEAR_LEFT + OWN_ROW(i)] = linear_element(&own, row, first + ACROSS);
      right[ACROSS * LINEAR_RIGHT + OWN_ROW(i)] = linear_element(&met, row, first + ACROSS);
    }
    SYNCHRONIZE;
    add_step_of(staged, right, LINEAR_ROWS, sum);
    SYNCHRONIZE;
    first += LINEAR_STEP;
  } while (first < own.dim);
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    const Index row = block.first + OWN_ROW(i);
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j) {
      if (row >= s.queries || PAIRED(j) >= LINEAR_ROWS) continue;
      inner[(block.number * s.queries + row) * LINEAR_ROWS + PAIRED(j)] =
          PAIRED(j) <= OWN_ROW(i) ? sum[i][j] : (Real)0;
    }
  }
}

// Of every query z, and what its similarities and levels are multiplied by.
KERNEL linear_weights(LINEAR_INPUTS, LINEAR_SUMS, TENSOR(Real, stats)) {
  OPEN_LINEAR_INPUTS;
  OPEN(Real, stats);
  LOCAL Real staged[LINEAR_STAGED];
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_SUMS(stats);
  int map = 0;
  do {
    const LinearRows queries = query_rows(&s, &in, &block, map);
    Real z[LINEAR_EACH_ROW];
    UNROLLED
    for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
      const Index row = block.first + OWN_ROW(i);
      z[i] = 0;
      for (int channel = ACROSS; row < s.queries && channel < s.dim; channel += 16)
        z[i] += linear_plain(&queries, row, channel) *
                sums.keys[row * sums.key_step + map * s.dim + channel];
    }
    add_across(staged, z);
    UNROLLED
    for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
      const Index row = block.first + OWN_ROW(i);
      if (ACROSS != 0 || row >= s.queries) continue;
      const Real seen = keys_seen(&s, &in, &block, row);
      const Real c = similarity_scale(&s, &in, seen);
      const Real sum = s.at_least_eps && c * z[i] < in.eps ? in.eps : c * z[i];
      const Real inverse = 1 / (sum + in.eps);
      GLOBAL Real* to = stats + (block.number * s.queries + row) * LINEAR_STATS;
      to[map] = !s.by_magnitude ? inverse : s.by_beta ? c * (1 + inverse) : c;
      to[2] = s.by_gamma ? -sum / seen : in.gamma ? (Real)-1 : (Real)0;
      to[3 + map] = sum;
    }
    ++map;
  } while (map < s.maps);
}

KERNEL linear_attention(LINEAR_INPUTS, LINEAR_SUMS, TENSOR(const Real, stats),
                        LINEAR_FINISH, TENSOR(Stored, out)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Stored, out);
  LOCAL Real staged[LINEAR_STAGED];
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_SUMS(stats);
  OPEN_LINEAR_FINISH;
  Real y[LINEAR_EACH_ROW][LINEAR_EACH];
  Real rstd[LINEAR_EACH_ROW];
  linear_results(&s, &in, &block, &sums, staged, y);
  inverse_rms(&s, &finish, staged, y, rstd);
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    const Index row = block.first + OWN_ROW(i);
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j) {
      const int w = PAIRED(j);
      if (row >= s.queries || w >= s.width) continue;
      if (finish.weight) y[i][j] *= rstd[i] * finish.weight[w];
      y[i][j] += residual_at(&s, &finish, row, w);
      if (finish.gate) y[i][j] *= gate_value(s.gate_op, load(finish.gate, row * s.gate.token + w));
    }
  }
  put_rows(y, 0, out, &s.out, &block, s.queries, s.width);
}
