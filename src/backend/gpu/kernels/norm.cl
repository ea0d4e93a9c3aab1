// Layer norm and RMS norm of rows, and their gradients. A row is normed by a team (group.h); without a
// mean it is the RMS norm.
#include "types.h"
#include "operations.h"
#include "group.h"
#include "chunk.h"

KERNEL layer_norm(Rows rows, Real eps, TENSOR(const Stored, x), TENSOR(const Real, weight),
                  TENSOR(const Real, bias), TENSOR(Stored, y), TENSOR(Real, mean),
                  TENSOR(Real, rstd)) {
  OPEN(const Stored, x);
  OPEN(const Real, weight);
  OPEN(const Real, bias);
  OPEN(Stored, y);
  OPEN(Real, mean);
  OPEN(Real, rstd);
  LOCAL Real shared[GROUP_SIZE];
  const Index row = row_of(&rows);
  const Index n = length_of(&rows, row);
  const Index first = row * rows.n;
  const Real count = (Real)(rows.n > 0 ? rows.n : 1);
  const int at_once =
      elements_at_once(rows.n, (size_t)x | (size_t)y | (size_t)weight | (size_t)bias);
  Real values[CHUNK], by[CHUNK];
  Real middle = 0;
  if (IS_DEFINED(mean)) {
    Real sum = 0;
    EACH_CHUNK(i, at_once, n, rows.team) {
      load_chunk(x, first + i, at_once, values);
      EACH_OF_CHUNK(e, at_once) sum += values[e];
    }
    middle = team_sum(rows.team, shared, sum) / count;
  }
  Real squares = 0, rest = 0;
  EACH_CHUNK(i, at_once, n, rows.team) {
    load_chunk(x, first + i, at_once, values);
    EACH_OF_CHUNK(e, at_once) {
      const Real centred = values[e] - middle;
      squares += centred * centred;
      rest += centred;
    }
  }
  // What rounding left of the mean: a row of nearly equal elements is multiplied by up to 1 / sqrt(eps).
  const Real shift = IS_DEFINED(mean) ? team_sum(rows.team, shared, rest) / count : (Real)0;
  const Real variance = team_sum(rows.team, shared, squares) / count - shift * shift;
  const Real factor = 1 / sqrt((variance < 0 ? (Real)0 : variance) + eps);
  EACH_CHUNK(i, at_once, n, rows.team) {
    load_chunk(x, first + i, at_once, values);
    EACH_OF_CHUNK(e, at_once) values[e] = (values[e] - middle - shift) * factor;
    if (IS_DEFINED(weight)) {
      load_parameters(weight, i, at_once, by);
      EACH_OF_CHUNK(e, at_once) values[e] *= by[e];
    }
    if (IS_DEFINED(bias)) {
      load_parameters(bias, i, at_once, by);
      EACH_OF_CHUNK(e, at_once) values[e] += by[e];
    }
    store_chunk(y, first + i, at_once, values);
  }
  if (PLACE % rows.team != 0 || row >= rows.count) return;
  if (IS_DEFINED(mean)) mean[row] = middle + shift;
  rstd[row] = factor;
}

// dx = rstd (e - mean(e) - normed mean(e normed)), e = dy weight; the RMS norm has no mean(e).
KERNEL layer_norm_backward(Rows rows, TENSOR(const Stored, x), TENSOR(const Real, weight),
                           TENSOR(const Real, mean), TENSOR(const Real, rstd),
                           TENSOR(const Stored, dy), TENSOR(Stored, dx)) {
  OPEN(const Stored, x);
  OPEN(const Real, weight);
  OPEN(const Real, mean);
  OPEN(const Real, rstd);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  LOCAL Real shared[GROUP_SIZE];
  const Index row = row_of(&rows);
  const Index n = length_of(&rows, row);
  const Index first = row * rows.n;
  const Real count = (Real)(rows.n > 0 ? rows.n : 1);
  const Real middle = n > 0 && IS_DEFINED(mean) ? mean[row] : (Real)0;
  const Real factor = n > 0 ? rstd[row] : (Real)0;
  const int at_once =
      elements_at_once(rows.n, (size_t)x | (size_t)weight | (size_t)dy | (size_t)dx);
  Real values[CHUNK], e[CHUNK], by[CHUNK];
  Real sum = 0, with_normed = 0;
  EACH_CHUNK(i, at_once, n, rows.team) {
    load_chunk(dy, first + i, at_once, e);
    load_chunk(x, first + i, at_once, values);
    if (IS_DEFINED(weight)) load_parameters(weight, i, at_once, by);
    EACH_OF_CHUNK(k, at_once) {
      if (IS_DEFINED(weight)) e[k] *= by[k];
      sum += e[k];
      with_normed += e[k] * (values[k] - middle) * factor;
    }
  }
  sum = team_sum(rows.team, shared, sum) / count;
  with_normed = team_sum(rows.team, shared, with_normed) / count;
  if (!IS_DEFINED(mean)) sum = 0;
  EACH_CHUNK(i, at_once, n, rows.team) {
    load_chunk(dy, first + i, at_once, e);
    load_chunk(x, first + i, at_once, values);
    if (IS_DEFINED(weight)) load_parameters(weight, i, at_once, by);
    EACH_OF_CHUNK(k, at_once) {
      if (IS_DEFINED(weight)) e[k] *= by[k];
      const Real normed = (values[k] - middle) * factor;
      values[k] = factor * (e[k] - sum - normed * with_normed);
    }
    store_chunk(dx, first + i, at_once, values);
  }
}

// Of every column and piece of `piece` rows: the sums of dy normed and of dy, each (pieces, n). A work
// item makes one of each.
KERNEL layer_norm_columns(Index count, Index n, Index piece, TENSOR(const Stored, x),
                          TENSOR(const Real, mean), TENSOR(const Real, rstd),
                          TENSOR(const Stored, dy), TENSOR(Real, dweight), TENSOR(Real, dbias)) {
  OPEN(const Stored, x);
  OPEN(const Real, mean);
  OPEN(const Real, rstd);
  OPEN(const Stored, dy);
  OPEN(Real, dweight);
  OPEN(Real, dbias);
  const Index first = ITEM / n * piece;
  if (first >= count) return;
  const Index end = first + piece < count ? first + piece : count;
  Real with_normed = 0, sum = 0;
  for (Index row = first; row < end; ++row) {
    const Real d = load(dy, row * n + ITEM % n);
    const Real centred =
        load(x, row * n + ITEM % n) - (IS_DEFINED(mean) ? mean[row] : (Real)0);
    with_normed += d * centred * rstd[row];
    sum += d;
  }
  if (IS_DEFINED(dweight)) dweight[ITEM] = with_normed;
  if (IS_DEFINED(dbias)) dbias[ITEM] = sum;
}
