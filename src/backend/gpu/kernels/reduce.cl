// Sums and extrema along one run of axes: x seen as (outer, length, inner) -> (outer, inner). A long run
// is cut into chunks whose results are reduced again; the order of additions depends on shapes alone.
#include "types.h"
#include "operations.h"
#include "group.h"

FUNCTION Real reduce_start(Int32 op) {
  if (op == ReduceMax) return -INFINITY;
  if (op == ReduceMin) return INFINITY;
  return 0;
}
FUNCTION Real reduce_element(const RunShape* s, Real element) {
  return s->op == ReduceSumSquares && s->first_pass ? element * element : element;
}
FUNCTION Index piece_end(const RunShape* s, Index piece) {
  const Index end = (piece + 1) * s->chunk;
  return end < s->length ? end : s->length;
}

// y (outer, chunks, inner), times `scale`. x holds Stored, or Real where it comes from a first pass.
KERNEL reduce(RunShape s, Real scale, TENSOR(const Stored, x), TENSOR(Real, y)) {
  OPEN(const Stored, x);
  OPEN(Real, y);
  const Index i = ITEM;
  if (i >= s.outer * s.chunks * s.inner) return;
  const Index piece = i / s.inner % s.chunks;
  const Index at = i / (s.inner * s.chunks) * s.length * s.inner + i % s.inner;
  Real value = reduce_start(s.op);
  for (Index r = piece * s.chunk; r < piece_end(&s, piece); ++r)
    value = join(s.op, value, reduce_element(&s, load(x, at + r * s.inner)));
  y[i] = value * scale;
}

// The same for rows whose elements lie next to each other: a group has a piece of a row.
KERNEL reduce_row(RunShape s, Real scale, TENSOR(const Stored, x), TENSOR(Real, y)) {
  OPEN(const Stored, x);
  OPEN(Real, y);
  LOCAL Real shared[GROUP_SIZE];
  const Index piece = GROUP % s.chunks;
  const Index at = GROUP / s.chunks * s.length;
  Real value = reduce_start(s.op);
  for (Index r = piece * s.chunk + PLACE; r < piece_end(&s, piece); r += GROUP_SIZE)
    value = join(s.op, value, reduce_element(&s, load(x, at + r)));
  value = team_join(s.op, GROUP_SIZE, shared, value);
  if (PLACE == 0) y[GROUP] = value * scale;
}

// The first maximum (or minimum) of every row; a NaN counts as the most extreme.
KERNEL arg_reduce(Index rows, Index n, Int32 maximum, TENSOR(const Stored, x), TENSOR(Index, y)) {
  OPEN(const Stored, x);
  OPEN(Index, y);
  if (ITEM >= rows) return;
  Index best = 0;
  Real value = load(x, ITEM * n);
  for (Index i = 1; i < n; ++i) {
    const Real candidate = load(x, ITEM * n + i);
    if (IS_NAN(value)) break;
    if (IS_NAN(candidate) || (maximum ? candidate > value : candidate < value)) {
      best = i;
      value = candidate;
    }
  }
  y[ITEM] = best;
}

// y[..., index, ...] += x, in order: one work item for each place that no other can meet.
KERNEL scatter_add(Lookup lookup, TENSOR(const Stored, x), TENSOR(const Index, index),
                   TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(const Index, index);
  OPEN(Stored, y);
  if (ITEM >= lookup.outer * lookup.inner) return;
  const Index outer = ITEM / lookup.inner;
  const Index lane = ITEM % lookup.inner;
  for (Index e = 0; e < lookup.entries; ++e) {
    const Index from = (outer * lookup.entries + e) * lookup.inner + lane;
    if (index[from] < 0 || index[from] >= lookup.length) continue;
    const Index to = (outer * lookup.length + index[from]) * lookup.inner + lane;
    store(y, to, load(y, to) + load(x, from));
  }
}

// table[index[e], :] += x[e, :], in order: a group has a row of the table and looks through all
// entries for those that are its own.
KERNEL scatter_add_rows(Index entries, Index dim, TENSOR(const Stored, x),
                        TENSOR(const Index, index), TENSOR(Stored, table)) {
  OPEN(const Stored, x);
  OPEN(const Index, index);
  OPEN(Stored, table);
  LOCAL Int32 is_own[GROUP_SIZE];
  LOCAL Int32 some;
  for (Index first = 0; first < entries; first += GROUP_SIZE) {
    if (PLACE == 0) some = 0;
    SYNCHRONIZE;
    is_own[PLACE] = first + PLACE < entries && index[first + PLACE] == GROUP;
    if (is_own[PLACE]) some = 1;
    SYNCHRONIZE;
    for (Index j = some ? PLACE : dim; j < dim; j += GROUP_SIZE) {
      Real sum = load(table, GROUP * dim + j);
      for (int e = 0; e < GROUP_SIZE; ++e)
        if (is_own[e]) sum += load(x, (first + e) * dim + j);
      store(table, GROUP * dim + j, sum);
    }
    SYNCHRONIZE;
  }
}
