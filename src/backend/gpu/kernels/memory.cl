// Filling, converting, copying and choosing: any dtype.
#include "types.h"
#include "operations.h"
#include "walk.h"
#include "group.h"

KERNEL fill(Index n, Real value, TENSOR(Stored, y)) {
  OPEN(Stored, y);
  if (ITEM < n) store(y, ITEM, value);
}

// Of the dtype with this number (tensor/dtype.h) to Stored.
KERNEL cast(Index n, Int32 dtype, GLOBAL const Byte* x_memory, Index x_first, TENSOR(Stored, y)) {
  OPEN(Stored, y);
  const Index i = ITEM;
  if (i >= n) return;
  const Index at = x_first + i;
  switch (dtype) {
    case 0:
      store(y, i, (Real)((GLOBAL const float*)x_memory)[at]);
      break;
#ifdef HAVE_FLOAT64
    case 1:
      store(y, i, (Real)((GLOBAL const double*)x_memory)[at]);
      break;
#endif
    case 2:
      store(y, i, (Real)float_of_bfloat16(((GLOBAL const HalfWord*)x_memory)[at]));
      break;
    case 3:
      store(y, i, (Real)((GLOBAL const Index*)x_memory)[at]);
      break;
    case 4:
      store(y, i, (Real)((GLOBAL const Int32*)x_memory)[at]);
      break;
    default:
      store(y, i, (Real)x_memory[at]);
  }
}

// Operand 0 of the walk is the source, operand 1 the destination.
KERNEL copy(Walk walk, Index from, TENSOR(const Stored, x), Index to, TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  const Index i = ITEM;
  if (i < walk.count) y[to + walk_offset(&walk, 1, i)] = x[from + walk_offset(&walk, 0, i)];
}

// Destinations that repeat are one axis, the last `repeated` elements of the walk: one work item adds
// them in order.
KERNEL copy_add(Walk walk, Index repeated, Index from, TENSOR(const Stored, x), Index to,
                TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  const Index first = ITEM * repeated;
  if (first >= walk.count) return;
  const Index at = to + walk_offset(&walk, 1, first);
  Real sum = load(y, at);
  for (Index i = first; i < first + repeated; ++i) sum += load(x, from + walk_offset(&walk, 0, i));
  store(y, at, sum);
}

// Operands: condition, a, b.
KERNEL where(Walk walk, TENSOR(const Byte, condition), TENSOR(const Stored, a),
             TENSOR(const Stored, b), TENSOR(Stored, y)) {
  OPEN(const Byte, condition);
  OPEN(const Stored, a);
  OPEN(const Stored, b);
  OPEN(Stored, y);
  const Index i = ITEM;
  if (i >= walk.count) return;
  y[i] = condition[walk_offset(&walk, 0, i)] ? a[walk_offset(&walk, 1, i)]
                                             : b[walk_offset(&walk, 2, i)];
}

KERNEL compare(Walk walk, Int32 op, TENSOR(const Stored, a), TENSOR(const Stored, b),
               TENSOR(Byte, y)) {
  OPEN(const Stored, a);
  OPEN(const Stored, b);
  OPEN(Byte, y);
  const Index i = ITEM;
  if (i >= walk.count) return;
  const Real u = load(a, walk_offset(&walk, 0, i));
  const Real v = load(b, walk_offset(&walk, 1, i));
  switch (op) {
    case BinaryEqual:
      y[i] = u == v;
      break;
    case BinaryNotEqual:
      y[i] = u != v;
      break;
    case BinaryLess:
      y[i] = u < v;
      break;
    case BinaryLessEqual:
      y[i] = u <= v;
      break;
    case BinaryGreater:
      y[i] = u > v;
      break;
    default:
      y[i] = u >= v;
  }
}

// What an index outside finds, since nobody else can complain: all bits set are no number of any
// floating type.
#define NOWHERE ((Stored)-1)

KERNEL gather(Lookup lookup, TENSOR(const Stored, x), TENSOR(const Index, index),
              TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(const Index, index);
  OPEN(Stored, y);
  const Index i = ITEM;
  if (i >= lookup.outer * lookup.entries * lookup.inner) return;
  const Index outer = i / (lookup.entries * lookup.inner);
  const Index at = index[i];
  y[i] = at >= 0 && at < lookup.length
             ? x[(outer * lookup.length + at) * lookup.inner + i % lookup.inner]
             : NOWHERE;
}

// y[i, :] = table[index[i], :]; the table has `length` rows.
KERNEL gather_rows(Rows rows, Index length, TENSOR(const Stored, table),
                   TENSOR(const Index, index), TENSOR(Stored, y)) {
  OPEN(const Stored, table);
  OPEN(const Index, index);
  OPEN(Stored, y);
  const Index row = row_of(&rows);
  for (Index i = PLACE % rows.team; i < length_of(&rows, row); i += rows.team) {
    const Index at = index[row];
    y[row * rows.n + i] = at >= 0 && at < length ? table[at * rows.n + i] : NOWHERE;
  }
}
