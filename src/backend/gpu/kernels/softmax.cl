// Softmax of rows, the cross-entropy of their softmax, and the gradients. A row belongs to a team
// (group.h).
#include "types.h"
#include "operations.h"
#include "group.h"
#include "chunk.h"

// The largest of a row's first n elements that are allowed (mask may be 0), and the sum of the
// exponentials of their distances to it; 0 stands for the largest where nothing is allowed. Chunks
// (chunk.h) may end behind n, within the row.
typedef struct {
  Real top, sum;
} Exponentials;

FUNCTION Exponentials exponentials(int team, SHARED Real* shared, GLOBAL const Stored* x,
                                   Index first, Index n, GLOBAL const Byte* mask, int at_once) {
  Exponentials of;
  Real values[CHUNK];
  of.top = -INFINITY;
  EACH_CHUNK(i, at_once, n, team) {
    load_chunk(x, first + i, at_once, values);
    EACH_OF_CHUNK(e, at_once)
    if (i + e < n && (mask == 0 || mask[i + e]))
      of.top = larger_or_smaller(1, of.top, values[e]);
  }
  of.top = team_join(ReduceMax, team, shared, of.top);
  if (of.top == -INFINITY) of.top = 0;
  of.sum = 0;
  EACH_CHUNK(i, at_once, n, team) {
    load_chunk(x, first + i, at_once, values);
    EACH_OF_CHUNK(e, at_once)
    if (i + e < n && (mask == 0 || mask[i + e])) of.sum += exp(values[e] - of.top);
  }
  of.sum = team_sum(team, shared, of.sum);
  return of;
}

// Rows of one item of the mask stand together, and the rows of `queries` queries where it is causal.
KERNEL softmax(Rows rows, Index rows_per_item, Index queries, Int32 is_log, Int32 causal,
               TENSOR(const Stored, x), TENSOR(const Byte, mask), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  LOCAL Real shared[GROUP_SIZE];
  const Index row = row_of(&rows);
  const Index n = length_of(&rows, row);
  const Index first = row * rows.n;
  Index keys = n;
  if (causal) {
    const Index seen = row % queries + 1 + rows.n - queries;
    keys = seen < 0 ? 0 : seen < n ? seen : n;
  }
  GLOBAL const Byte* allowed = 0;
  if (IS_DEFINED(mask) && n > 0) allowed = mask_memory + mask_first + row / rows_per_item * n;
  const int at_once = elements_at_once(rows.n, (size_t)x | (size_t)y);
  const Exponentials of = exponentials(rows.team, shared, x, first, keys, allowed, at_once);
  const Real shift = of.top + log(of.sum);
  Real values[CHUNK];
  EACH_CHUNK(i, at_once, n, rows.team) {
    load_chunk(x, first + i, at_once, values);
    EACH_OF_CHUNK(e, at_once) {
      const int seen = i + e < keys && (allowed == 0 || allowed[i + e]);
      Real value = 0;
      if (is_log) {
        if (of.sum != 0) value = seen ? values[e] - shift : (Real)-INFINITY;
      } else if (seen && of.sum != 0) {
        value = exp(values[e] - of.top) / of.sum;
      }
      values[e] = value;
    }
    store_chunk(y, first + i, at_once, values);
  }
}

KERNEL softmax_backward(Rows rows, Int32 is_log, TENSOR(const Stored, y), TENSOR(const Stored, dy),
                        TENSOR(Stored, dx)) {
  OPEN(const Stored, y);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  LOCAL Real shared[GROUP_SIZE];
  const Index row = row_of(&rows);
  const Index n = length_of(&rows, row);
  const Index first = row * rows.n;
  const int at_once = elements_at_once(rows.n, (size_t)y | (size_t)dy | (size_t)dx);
  Real p[CHUNK], d[CHUNK];
  Real sum = 0;
  EACH_CHUNK(i, at_once, n, rows.team) {
    load_chunk(dy, first + i, at_once, d);
    if (!is_log) load_chunk(y, first + i, at_once, p);
    EACH_OF_CHUNK(e, at_once) sum += is_log ? d[e] : d[e] * p[e];
  }
  sum = team_sum(rows.team, shared, sum);
  EACH_CHUNK(i, at_once, n, rows.team) {
    load_chunk(y, first + i, at_once, p);
    load_chunk(dy, first + i, at_once, d);
    EACH_OF_CHUNK(e, at_once) d[e] = is_log ? d[e] - exp(p[e]) * sum : p[e] * (d[e] - sum);
    store_chunk(dx, first + i, at_once, d);
  }
}

KERNEL cross_entropy(Rows rows, Real smoothing, Index ignore_index, TENSOR(const Stored, logits),
                     TENSOR(const Index, target), TENSOR(Real, loss), TENSOR(Real, lse)) {
  OPEN(const Stored, logits);
  OPEN(const Index, target);
  OPEN(Real, loss);
  OPEN(Real, lse);
  LOCAL Real shared[GROUP_SIZE];
  const Index row = row_of(&rows);
  const Index n = length_of(&rows, row);
  const Index first = row * rows.n;
  const int at_once = elements_at_once(rows.n, (size_t)logits);
  const Exponentials of = exponentials(rows.team, shared, logits, first, n, 0, at_once);
  Real sum = 0;
  if (smoothing > 0) {
    Real values[CHUNK];
    EACH_CHUNK(i, at_once, n, rows.team) {
      load_chunk(logits, first + i, at_once, values);
      EACH_OF_CHUNK(e, at_once) sum += values[e];
    }
    sum = team_sum(rows.team, shared, sum);
  }
  if (PLACE % rows.team != 0 || n == 0) return;
  const Index label = target[row];
  lse[row] = of.top + log(of.sum);
  if (label == ignore_index) {
    loss[row] = 0;
  } else if (label < 0 || label >= n) {
    loss[row] = NAN;
  } else {
    loss[row] = lse[row] - (1 - smoothing) * load(logits, first + label) -
                smoothing * sum / (Real)n;
  }
}

KERNEL cross_entropy_backward(Rows rows, Real smoothing, Index ignore_index,
                              TENSOR(const Stored, logits), TENSOR(const Index, target),
                              TENSOR(const Real, lse), TENSOR(const Real, dloss),
                              TENSOR(Stored, dlogits)) {
  OPEN(const Stored, logits);
  OPEN(const Index, target);
  OPEN(const Real, lse);
  OPEN(const Real, dloss);
  OPEN(Stored, dlogits);
  const Index row = row_of(&rows);
  if (row >= rows.count) return;
  const Index first = row * rows.n;
  const Index label = target[row];
  const Real row_lse = lse[row], upstream = dloss[row];
  const int at_once = elements_at_once(rows.n, (size_t)logits | (size_t)dlogits);
  Real values[CHUNK];
  EACH_CHUNK(i, at_once, rows.n, rows.team) {
    load_chunk(logits, first + i, at_once, values);
    EACH_OF_CHUNK(e, at_once) {
      Real d = exp(values[e] - row_lse) - smoothing / (Real)rows.n;
      if (i + e == label) d -= 1 - smoothing;
      values[e] = label == ignore_index ? (Real)0 : upstream * d;
    }
    store_chunk(dlogits, first + i, at_once, values);
  }
}
