// Softmax of rows, the cross-entropy of their softmax, and the gradients. A row belongs to a team
// (group.h).
#include "types.h"
#include "operations.h"
#include "group.h"

// The largest of a row's first n elements that are allowed (mask may be 0), and the sum of the
// exponentials of their distances to it; 0 stands for the largest where nothing is allowed.
typedef struct {
  Real top, sum;
} Exponentials;

FUNCTION Exponentials exponentials(int team, SHARED Real* shared, GLOBAL const Stored* x,
                                   Index first, Index n, GLOBAL const Byte* mask) {
  Exponentials of;
  of.top = -INFINITY;
  for (Index i = PLACE % team; i < n; i += team)
    if (mask == 0 || mask[i]) of.top = larger_or_smaller(1, of.top, load(x, first + i));
  of.top = team_join(ReduceMax, team, shared, of.top);
  if (of.top == -INFINITY) of.top = 0;
  of.sum = 0;
  for (Index i = PLACE % team; i < n; i += team)
    if (mask == 0 || mask[i]) of.sum += exp(load(x, first + i) - of.top);
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
  const Exponentials of = exponentials(rows.team, shared, x, first, keys, allowed);
  const Real shift = of.top + log(of.sum);
  for (Index i = PLACE % rows.team; i < n; i += rows.team) {
    const int seen = i < keys && (allowed == 0 || allowed[i]);
    Real value = 0;
    if (is_log) {
      if (of.sum != 0) value = seen ? load(x, first + i) - shift : (Real)-INFINITY;
    } else if (seen && of.sum != 0) {
      value = exp(load(x, first + i) - of.top) / of.sum;
    }
    store(y, first + i, value);
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
  Real sum = 0;
  for (Index i = PLACE % rows.team; i < n; i += rows.team)
    sum += load(dy, first + i) * (is_log ? (Real)1 : load(y, first + i));
  sum = team_sum(rows.team, shared, sum);
  for (Index i = PLACE % rows.team; i < n; i += rows.team) {
    const Real p = load(y, first + i);
    const Real d = load(dy, first + i);
    store(dx, first + i, is_log ? d - exp(p) * sum : p * (d - sum));
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
  const Exponentials of = exponentials(rows.team, shared, logits, first, n, 0);
  Real sum = 0;
  if (smoothing > 0) {
    for (Index i = PLACE % rows.team; i < n; i += rows.team) sum += load(logits, first + i);
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
  for (Index i = PLACE % rows.team; i < length_of(&rows, row); i += rows.team) {
    Real d = exp(load(logits, row * rows.n + i) - lse[row]) - smoothing / (Real)rows.n;
    if (i == target[row]) d -= 1 - smoothing;
    store(dlogits, row * rows.n + i, target[row] == ignore_index ? (Real)0 : dloss[row] * d);
  }
}
