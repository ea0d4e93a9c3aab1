// Gradients of linear attention. First what is made of the results (linear_finish_backward), then the
// queries, with M the sums S times the parameters of their columns,
//   dq = (f dy M^T + dz s) phi'(q),   dz = the gradient of z times c,
// then the sums over the queries, of which E = (f Q)^T dy is the gradient of M, dz Q that of s and -g dy
// that of u with its parameters (linear_query_sums), and with these the keys and values.
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

// Sums of the columns of one square of every warp, each lane's: SQUARE_STEP columns.
#define COLUMN_STRIDE (SQUARE_STEP + 1)
#define COLUMN_PARTS (LANES_OF_COLUMN * COLUMN_STRIDE)  // more than ROW_PARTS

// Writes dy, and the gradients of residual and gate; of the weight a row for each group.
KERNEL linear_finish_backward(LINEAR_INPUTS, LINEAR_SUMS, TENSOR(const Real, stats),
                              LINEAR_FINISH, TENSOR(const Stored, dout), TENSOR(Real, dy),
                              TENSOR(Stored, dresidual), TENSOR(Stored, dgate),
                              TENSOR(Real, dweight)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Real, dweight);
  LOCAL Stored staged[LINEAR_STAGED];
  LOCAL Real part[COLUMN_PARTS];
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_SUMS(stats);
  OPEN_LINEAR_FINISH;
  // Of the head.
  const Index start = head_start(&s.out, block.item, block.head);
  GLOBAL const Stored* dout = dout_memory + dout_first + start;
  GLOBAL Real* dy = dy_memory + dy_first + start;
  GLOBAL Stored* dresidual =
      dresidual_memory + dresidual_first + head_start(&s.residual, block.item, block.head);
  GLOBAL Stored* dgate = dgate_memory + dgate_first + head_start(&s.gate, block.item, block.head);
  Real y[LINEAR_SQUARES][SQUARE_SUMS];
  Real through[LINEAR_SQUARES][SQUARE_SUMS];
  Real rstd[2], mean[2] = {0, 0};
  linear_results(&s, &in, &block, &sums, staged, y);
  inverse_rms(&s, &finish, part, y, rstd);

  // y becomes the normed result, dout what goes through the gate, and on through the weight.
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    NO_EARLIER;
    const Index row = block.first + TILE_ROW(2 * i);
    const int channels = row < s.queries ? s.width - FIRST_COLUMN : 0;
    const Index of_out = row * s.out.token + FIRST_COLUMN;
    const Index of_gate = row * s.gate.token + FIRST_COLUMN;
    const Index of_residual = row * s.residual.token + FIRST_COLUMN;
    UNROLLED
    for (int j = 0; j < LINEAR_SQUARES; ++j) {
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        const int w = COLUMNS_AWAY(j, e);
        if (IS_LOWER(e) != i) continue;
        const int there = w < channels;
        const Real upstream = there ? load(dout, of_out + w) : (Real)0;
        const Real gate_is = there && finish.gate ? load(finish.gate, of_gate + w) : (Real)1;
        y[j][e] = there ? y[j][e] * rstd[i] : (Real)0;
        through[j][e] = finish.gate ? upstream * gate_value(s.gate_op, gate_is) : upstream;
        if (there && IS_DEFINED(dresidual)) {
          const Index at = of_residual + w;
          store(dresidual, at, s.add ? load(dresidual, at) + through[j][e] : through[j][e]);
        }
        if (there && IS_DEFINED(dgate)) {
          const Index at = of_gate + w;
          const Real by = finish.weight ? finish.weight[FIRST_COLUMN + w] : (Real)1;
          const Real d = upstream * gate_slope(s.gate_op, gate_is) *
                         (y[j][e] * by + residual_at(&s, &finish, row, FIRST_COLUMN + w));
          store(dgate, at, s.add ? load(dgate, at) + d : d);
        }
      }
    }
  }
  UNROLLED
  for (int j = 0; j < LINEAR_SQUARES; ++j) {
    // Of the square's columns the sums of two rows here.
    UNROLLED
    for (int e = 0; e < SQUARE_SUMS; ++e)
      if (!IS_LOWER(e))
        part[LANE_OF_COLUMN * COLUMN_STRIDE + TILE_COLUMN(0, e)] =
            through[j][e] * y[j][e] + through[j][e ^ 2] * y[j][e ^ 2];
    SYNCHRONIZE;
    const int column = j * SQUARE_STEP + PLACE;
    if (IS_DEFINED(dweight) && PLACE < SQUARE_STEP && column < s.width) {
      Real sum = 0;
      for (int lane = 0; lane < LANES_OF_COLUMN; ++lane) sum += part[lane * COLUMN_STRIDE + PLACE];
      dweight[GROUP * s.width + column] = sum;
    }
    SYNCHRONIZE;
  }

  // dy = rstd (e - normed mean(e normed)).
  UNROLLED
  for (int j = 0; j < LINEAR_SQUARES; ++j) {
    UNROLLED
    for (int e = 0; e < SQUARE_SUMS; ++e) {
      if (finish.weight && TILE_COLUMN(j, e) < s.width)
        through[j][e] *= finish.weight[TILE_COLUMN(j, e)];
      mean[IS_LOWER(e)] += through[j][e] * y[j][e];
    }
  }
  add_across(part, mean);
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const Index row = block.first + TILE_ROW(2 * i);
    const int channels = row < s.queries ? s.width - FIRST_COLUMN : 0;
    GLOBAL Real* to = dy + row * s.out.token + FIRST_COLUMN;
    UNROLLED
    for (int j = 0; j < LINEAR_SQUARES; ++j) {
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        if (IS_LOWER(e) != i || COLUMNS_AWAY(j, e) >= channels) continue;
        Real d = through[j][e];
        if (finish.weight) d = rstd[i] * (d - y[j][e] * (mean[i] / (Real)s.width));
        to[COLUMNS_AWAY(j, e)] = d;
      }
    }
  }
}

// The gradient of z times c, where df is that of f / c and dg that of g.
FUNCTION Real gradient_of_sum(const LinearShape* s, const LinearInputs* in, Real keys, Real z, Real df,
                              Real dg) {
  const Real c = similarity_scale(s, in, keys);
  const Real shifted = z + in->eps;
  Real dz = 0;
  if (!s->by_magnitude || s->by_beta) dz -= c * df / shifted / shifted;
  if (s->by_gamma) dz += dg / keys;
  return s->at_least_eps && z <= in->eps ? (Real)0 : c * dz;
}

// Pairs of channels turned against the angles of their tokens.
FUNCTION void turn_back(const LinearRows* rows, Index first, Real (*x)[SQUARE_SUMS]) {
  if (!rows->cosines) return;
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    NO_EARLIER;
    const Index row = first + TILE_ROW(2 * i);
    const Index angle = row * (rows->dim / 2) + FIRST_COLUMN / 2;
    const int channels = row < rows->count ? rows->dim - FIRST_COLUMN : 0;
    UNROLLED
    for (int j = 0; j < LINEAR_SQUARES; ++j) {
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; e += 2) {
        if (IS_LOWER(e) != i || COLUMNS_AWAY(j, e) >= channels) continue;
        const Real cosine = rows->cosines[angle + COLUMNS_AWAY(j, e) / 2];
        const Real sine = rows->sines[angle + COLUMNS_AWAY(j, e) / 2];
        const Real a = x[j][e], b = x[j][e + 1];
        x[j][e] = a * cosine + b * sine;
        x[j][e + 1] = b * cosine - a * sine;
      }
    }
  }
}

// Gradients of features become those of what they were made of; of masked rows 0.
FUNCTION void through_features(const LinearRows* rows, Index first, Real (*x)[SQUARE_SUMS]) {
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    NO_EARLIER;
    const LinearLane lane = linear_lane(rows, first + TILE_ROW(2 * i));
    UNROLLED
    for (int j = 0; j < LINEAR_SQUARES; ++j)
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e)
        if (IS_LOWER(e) == i)
          x[j][e] = lane.is_there ? x[j][e] * linear_slope(rows->features, lane_value(&lane, j, e))
                                  : (Real)0;
  }
}

// Writes dz into what is known of the queries as well; dq may not be there.
KERNEL linear_dq(LINEAR_INPUTS, LINEAR_SUMS, LINEAR_UPSTREAM, TENSOR(Real, stats),
                 TENSOR(Stored, dq)) {
  OPEN_LINEAR_INPUTS;
  OPEN(Real, stats);
  OPEN(Stored, dq);
  LOCAL Stored staged[LINEAR_STAGED];
  LOCAL Real part[ROW_PARTS];
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_SUMS(stats);
  OPEN_LINEAR_UPSTREAM;
  Real dg[2] = {0, 0};
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const Index row = block.first + TILE_ROW(2 * i);
    ONE_BY_ONE
    for (int w = LANE_OF_ROW; s.by_gamma && row < s.queries && w < s.width; w += LANES_OF_ROW)
      dg[i] -= linear_plain(&upstream, row, w) * level_of(&s, &in, &block, &sums, row, w);
  }
  add_across(part, dg);
  const int channels = s.dim - FIRST_COLUMN;
  int map = 0;
  ONE_BY_ONE
  do {
    const LinearRows keys = key_rows(&s, &in, &block, map);
    Real df[2] = {0, 0}, f[2], z[2];
    Real sum[LINEAR_SQUARES][SQUARE_SUMS];
    clear_squares(LINEAR_SQUARES, sum);
    add_by_sums(&s, &in, &block, map, &sums, 1, 0, &upstream, &keys, staged, sum);
    const LinearRows queries = query_rows(&s, &in, &block, map);
    turn_back(&queries, block.first, sum);
    UNROLLED
    for (int i = 0; i < 2; ++i) {
      NO_EARLIER;
      const LinearLane lane = linear_lane(&queries, block.first + TILE_ROW(2 * i));
      UNROLLED
      for (int j = 0; j < LINEAR_SQUARES; ++j)
        UNROLLED
        for (int e = 0; e < SQUARE_SUMS; ++e)
          if (IS_LOWER(e) == i) df[i] += sum[j][e] * lane_value(&lane, j, e);
    }
    add_across(part, df);
    read_stats(&s, &sums, &block, map, f);
    read_stats(&s, &sums, &block, 3 + map, z);
    UNROLLED
    for (int i = 0; i < 2; ++i) {
      const Index row = block.first + TILE_ROW(2 * i);
      if (row >= s.queries) continue;
      const Real dz =
          gradient_of_sum(&s, &in, keys_seen(&s, &in, &block, row), z[i], df[i], dg[i]);
      NO_EARLIER;
      if (LANE_OF_ROW == 0) stats[(block.number * s.queries + row) * LINEAR_STATS + 5 + map] = dz;
      GLOBAL const Real* of_keys = sums.keys + row * sums.key_step + map * s.dim + FIRST_COLUMN;
      UNROLLED
      for (int j = 0; j < LINEAR_SQUARES; ++j)
        UNROLLED
        for (int e = 0; e < SQUARE_SUMS; ++e)
          if (IS_LOWER(e) == i && COLUMNS_AWAY(j, e) < channels)
            sum[j][e] = f[i] * sum[j][e] + dz * of_keys[COLUMNS_AWAY(j, e)];
    }
    if (IS_DEFINED(dq)) {
      through_features(&queries, block.first, sum);
      put_block(sum, s.add, dq, &s.q[map], &block, s.queries, s.dim);
    }
    ++map;
  } while (map < s.maps);
}

// The sums are those over the queries, causal over those behind.
KERNEL linear_dv(LINEAR_INPUTS, LINEAR_SUMS, LINEAR_UPSTREAM, TENSOR(const Real, stats),
                 TENSOR(Stored, dv)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Stored, dv);
  LOCAL Stored staged[LINEAR_STAGED];
  const LinearBlock block = linear_block(&s, s.keys);
  OPEN_LINEAR_SUMS(stats);
  OPEN_LINEAR_UPSTREAM;
  Real sum[LINEAR_SQUARES][SQUARE_SUMS];
  clear_squares(LINEAR_SQUARES, sum);
  int map = 0;
  ONE_BY_ONE
  do {
    const LinearRows keys = key_rows(&s, &in, &block, map);
    add_by_sums(&s, &in, &block, map, &sums, 0, 1, &keys, &upstream, staged, sum);
    ++map;
  } while (map < s.maps);
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const Index row = block.first + TILE_ROW(2 * i);
    UNROLLED
    for (int j = 0; j < LINEAR_SQUARES; ++j) {
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        const int w = TILE_COLUMN(j, e);
        if (s.by_magnitude && IS_LOWER(e) == i && row < s.keys && w < s.width)
          sum[j][e] += level_of(&s, &in, &block, &sums, row, w);
      }
    }
  }
  const LinearRows values = value_rows(&s, &in, &block);
  through_features(&values, block.first, sum);
  put_block(sum, s.add, dv, &s.v, &block, s.keys, s.width);
}

KERNEL linear_dk(LINEAR_INPUTS, LINEAR_SUMS, TENSOR(const Real, stats), TENSOR(Stored, dk)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Stored, dk);
  LOCAL Stored staged[LINEAR_STAGED];
  const LinearBlock block = linear_block(&s, s.keys);
  OPEN_LINEAR_SUMS(stats);
  const int channels = s.dim - FIRST_COLUMN;
  const LinearRows values = value_rows(&s, &in, &block);
  int map = 0;
  ONE_BY_ONE
  do {
    const LinearRows queries = query_rows(&s, &in, &block, map);
    Real sum[LINEAR_SQUARES][SQUARE_SUMS];
    clear_squares(LINEAR_SQUARES, sum);
    add_by_sums(&s, &in, &block, map, &sums, 1, 1, &values, &queries, staged, sum);
    const LinearRows keys = key_rows(&s, &in, &block, map);
    turn_back(&keys, block.first, sum);
    UNROLLED
    for (int i = 0; i < 2; ++i) {
      const Index row = block.first + TILE_ROW(2 * i);
      if (row >= s.keys) continue;
      GLOBAL const Real* of_keys = sums.keys + row * sums.key_step + map * s.dim + FIRST_COLUMN;
      UNROLLED
      for (int j = 0; j < LINEAR_SQUARES; ++j)
        UNROLLED
        for (int e = 0; e < SQUARE_SUMS; ++e)
          if (IS_LOWER(e) == i && COLUMNS_AWAY(j, e) < channels)
            sum[j][e] += of_keys[COLUMNS_AWAY(j, e)];
    }
    through_features(&keys, block.first, sum);
    put_block(sum, s.add, dk, &s.k[map], &block, s.keys, s.dim);
    ++map;
  } while (map < s.maps);
}
