// Gradients of linear attention. First what is made of the results (linear_finish_backward), then the
// queries, with M the sums S times the parameters of their columns,
//   dq = (f dy M^T + dz s) phi'(q),   dz = the gradient of z times c,
// then the sums over the queries, of which E = (f Q)^T dy is the gradient of M, dz Q that of s and -g dy
// that of u with its parameters (linear_query_sums), and with these the keys and values.
#include "types.h"
#include "operations.h"
#include "walk.h"
#include "linear_tile.h"
#include "linear_results.h"

// Writes dy, and the gradients of residual and gate; of the weight a row for each group.
KERNEL linear_finish_backward(LINEAR_INPUTS, LINEAR_SUMS, TENSOR(const Real, stats),
                              LINEAR_FINISH, TENSOR(const Stored, dout), TENSOR(Real, dy),
                              TENSOR(Stored, dresidual), TENSOR(Stored, dgate),
                              TENSOR(Real, dweight)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Real, dweight);
  LOCAL Real staged[LINEAR_STAGED];
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
  Real y[LINEAR_EACH_ROW][LINEAR_EACH];
  Real through[LINEAR_EACH_ROW][LINEAR_EACH];
  Real rstd[LINEAR_EACH_ROW], mean[LINEAR_EACH_ROW];
  linear_results(&s, &in, &block, &sums, staged, y);
  inverse_rms(&s, &finish, staged, y, rstd);

  // y becomes the normed result, dout what goes through the gate, and on through the weight.
  UNROLLED
  for (int j = 0; j < LINEAR_EACH; ++j) {
    const int w = PAIRED(j);
    const Real by = finish.weight && w < s.width ? finish.weight[w] : (Real)1;
    Real with_normed = 0;
    UNROLLED
    for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
      const Index row = block.first + OWN_ROW(i);
      const int there = row < s.queries && w < s.width;
      const Real upstream = there ? load(dout, row * s.out.token + w) : (Real)0;
      const Real gate_is =
          there && finish.gate ? load(finish.gate, row * s.gate.token + w) : (Real)1;
      y[i][j] = there ? y[i][j] * rstd[i] : (Real)0;
      through[i][j] = finish.gate ? upstream * gate_value(s.gate_op, gate_is) : upstream;
      with_normed += through[i][j] * y[i][j];
      if (there && IS_DEFINED(dresidual)) {
        const Index at = row * s.residual.token + w;
        store(dresidual, at, s.add ? load(dresidual, at) + through[i][j] : through[i][j]);
      }
      if (there && IS_DEFINED(dgate)) {
        const Index at = row * s.gate.token + w;
        const Real d = upstream * (y[i][j] * by + residual_at(&s, &finish, row, w)) *
                       gate_slope(s.gate_op, gate_is);
        store(dgate, at, s.add ? load(dgate, at) + d : d);
      }
      through[i][j] *= by;
    }
    if (w < s.width) staged[DOWN * LINEAR_RIGHT + w] = with_normed;
  }
  SYNCHRONIZE;
  if (IS_DEFINED(dweight) && PLACE < s.width) {
    Real sum = 0;
    for (int r = 0; r < 16; ++r) sum += staged[r * LINEAR_RIGHT + PLACE];
    dweight[GROUP * s.width + PLACE] = sum;
  }
  SYNCHRONIZE;

  // dy = rstd (e - normed mean(e normed)).
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    mean[i] = 0;
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j) mean[i] += through[i][j] * y[i][j];
  }
  add_across(staged, mean);
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    const Index row = block.first + OWN_ROW(i);
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j) {
      if (row >= s.queries || PAIRED(j) >= s.width) continue;
      Real d = through[i][j];
      if (finish.weight) d = rstd[i] * (d - y[i][j] * (mean[i] / (Real)s.width));
      dy[row * s.out.token + PAIRED(j)] = d;
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
FUNCTION void turn_back(const LinearRows* rows, Index first, Real (*x)[LINEAR_EACH]) {
  if (!rows->cosines) return;
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; j += 2) {
      const Index row = first + OWN_ROW(i);
      if (row >= rows->count || PAIRED(j) >= rows->dim) continue;
      const Index angle = row * (rows->dim / 2) + PAIRED(j) / 2;
      const Real a = x[i][j], b = x[i][j + 1];
      x[i][j] = a * rows->cosines[angle] + b * rows->sines[angle];
      x[i][j + 1] = b * rows->cosines[angle] - a * rows->sines[angle];
    }
  }
}

// Gradients of features become those of what they were made of; of masked rows 0.
FUNCTION void through_features(const LinearRows* rows, Index first, Real (*x)[LINEAR_EACH]) {
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    NO_EARLIER;
    const Index row = first + OWN_ROW(i);
    const int hidden = rows->mask && row < rows->count && !rows->mask[row];
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j)
      x[i][j] = hidden ? (Real)0
                       : x[i][j] * linear_slope(rows->features, linear_plain(rows, row, PAIRED(j)));
  }
}

// Writes dz into what is known of the queries as well; dq may not be there.
LARGE_KERNEL linear_dq(LINEAR_INPUTS, LINEAR_SUMS, LINEAR_UPSTREAM, TENSOR(Real, stats),
                 TENSOR(Stored, dq)) {
  OPEN_LINEAR_INPUTS;
  OPEN(Real, stats);
  OPEN(Stored, dq);
  LOCAL Real staged[LINEAR_STAGED];
  const LinearBlock block = linear_block(&s, s.queries);
  OPEN_LINEAR_SUMS(stats);
  OPEN_LINEAR_UPSTREAM;
  Real dg[LINEAR_EACH_ROW];
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    const Index row = block.first + OWN_ROW(i);
    dg[i] = 0;
    ONE_BY_ONE
    for (int w = ACROSS; s.by_gamma && row < s.queries && w < s.width; w += 16)
      dg[i] -= linear_plain(&upstream, row, w) * level_of(&s, &in, &block, &sums, row, w);
  }
  add_across(staged, dg);
  int map = 0;
  ONE_BY_ONE
  do {
    const LinearRows queries = query_rows(&s, &in, &block, map);
    const LinearRows keys = key_rows(&s, &in, &block, map);
    Real df[LINEAR_EACH_ROW], f[LINEAR_EACH_ROW], z[LINEAR_EACH_ROW];
    Real sum[LINEAR_EACH_ROW][LINEAR_EACH];
    clear_rows(sum);
    add_back_by_sums(&s, &in, &block, map, &sums, 0, &upstream, &keys, staged, sum);
    turn_back(&queries, block.first, sum);
    UNROLLED
    for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
      NO_EARLIER;
      df[i] = 0;
      UNROLLED
      for (int j = 0; j < LINEAR_EACH; ++j)
        df[i] += sum[i][j] * linear_plain(&queries, block.first + OWN_ROW(i), PAIRED(j));
    }
    add_across(staged, df);
    read_stats(&s, &sums, &block, map, f);
    read_stats(&s, &sums, &block, 3 + map, z);
    UNROLLED
    for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
      const Index row = block.first + OWN_ROW(i);
      if (row >= s.queries) continue;
      const Real dz =
          gradient_of_sum(&s, &in, keys_seen(&s, &in, &block, row), z[i], df[i], dg[i]);
      NO_EARLIER;
      if (ACROSS == 0)
        stats[(block.number * s.queries + row) * LINEAR_STATS + 5 + map] = dz;
      UNROLLED
      for (int j = 0; j < LINEAR_EACH; ++j)
        if (PAIRED(j) < s.dim)
          sum[i][j] = f[i] * sum[i][j] +
                      dz * sums.keys[row * sums.key_step + map * s.dim + PAIRED(j)];
    }
    if (IS_DEFINED(dq)) {
      through_features(&queries, block.first, sum);
      put_rows(sum, s.add, dq, &s.q[map], &block, s.queries, s.dim);
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
  LOCAL Real staged[LINEAR_STAGED];
  const LinearBlock block = linear_block(&s, s.keys);
  OPEN_LINEAR_SUMS(stats);
  OPEN_LINEAR_UPSTREAM;
  Real ones[LINEAR_EACH_ROW];
  Real sum[LINEAR_EACH_ROW][LINEAR_EACH];
  clear_rows(sum);
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) ones[i] = 1;
  int map = 0;
  ONE_BY_ONE
  do {
    const LinearRows keys = key_rows(&s, &in, &block, map);
    add_by_sums(&s, &in, &block, map, &sums, 1, &keys, &upstream, ones, staged, sum);
    ++map;
  } while (map < s.maps);
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    const Index row = block.first + OWN_ROW(i);
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j)
      if (s.by_magnitude && row < s.keys && PAIRED(j) < s.width)
        sum[i][j] += level_of(&s, &in, &block, &sums, row, PAIRED(j));
  }
  const LinearRows values = value_rows(&s, &in, &block);
  through_features(&values, block.first, sum);
  put_rows(sum, s.add, dv, &s.v, &block, s.keys, s.width);
}

LARGE_KERNEL linear_dk(LINEAR_INPUTS, LINEAR_SUMS, TENSOR(const Real, stats), TENSOR(Stored, dk)) {
  OPEN_LINEAR_INPUTS;
  OPEN(const Real, stats);
  OPEN(Stored, dk);
  LOCAL Real staged[LINEAR_STAGED];
  const LinearBlock block = linear_block(&s, s.keys);
  OPEN_LINEAR_SUMS(stats);
  const LinearRows values = value_rows(&s, &in, &block);
  int map = 0;
  ONE_BY_ONE
  do {
    const LinearRows keys = key_rows(&s, &in, &block, map);
    const LinearRows queries = query_rows(&s, &in, &block, map);
    Real sum[LINEAR_EACH_ROW][LINEAR_EACH];
    clear_rows(sum);
    add_back_by_sums(&s, &in, &block, map, &sums, 1, &values, &queries, staged, sum);
    turn_back(&keys, block.first, sum);
    UNROLLED
    for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
      const Index row = block.first + OWN_ROW(i);
      UNROLLED
      for (int j = 0; j < LINEAR_EACH; ++j)
        if (row < s.keys && PAIRED(j) < s.dim)
          sum[i][j] += sums.keys[row * sums.key_step + map * s.dim + PAIRED(j)];
    }
    through_features(&keys, block.first, sum);
    put_rows(sum, s.add, dk, &s.k[map], &block, s.keys, s.dim);
    ++map;
  } while (map < s.maps);
}
