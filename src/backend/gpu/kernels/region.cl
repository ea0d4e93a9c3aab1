// Sums of the losses of regions, and their gradient: logits (batch, classes, pixels), target (batch,
// pixels). gdla 6.3.
#include "types.h"
#include "operations.h"
#include "group.h"

// Of a pixel, whose logits begin at `first`, the logarithm of the sum of their exponentials.
FUNCTION Real pixel_lse(const Region* s, GLOBAL const Stored* logits, Index first) {
  Real top = load(logits, first);
  for (Index c = 1; c < s->classes; ++c)
    top = larger_or_smaller(1, top, load(logits, first + c * s->pixels));
  Real sum = 0;
  for (Index c = 0; c < s->classes; ++c) sum += exp(load(logits, first + c * s->pixels) - top);
  return top + log(sum);
}
// lse: of the pixel, where it is a softmax.
FUNCTION Real probability(const Region* s, Real logit, Real lse) {
  return s->sigmoid ? 1 / (1 + exp(-logit)) : exp(logit - lse);
}

KERNEL region_lse(Region s, TENSOR(const Stored, logits), TENSOR(Real, lse)) {
  OPEN(const Stored, logits);
  OPEN(Real, lse);
  const Index i = ITEM;
  if (i >= s.batch * s.pixels) return;
  lse[i] = pixel_lse(&s, logits, i / s.pixels * s.classes * s.pixels + i % s.pixels);
}

// A group has a piece of the pixels for one class of one item; partial is (5, batch, classes, pieces):
// both, sums, squares, labels, surprise.
KERNEL region_pieces(Region s, TENSOR(const Stored, logits), TENSOR(const Index, target),
                     TENSOR(const Real, lse), TENSOR(Real, partial)) {
  OPEN(const Stored, logits);
  OPEN(const Index, target);
  OPEN(const Real, lse);
  OPEN(Real, partial);
  LOCAL Real shared[GROUP_SIZE];
  const Index set = GROUP / s.pieces;
  const Index class_number = set % s.classes;
  const Index first = set / s.classes * s.pixels;
  const Index begin = GROUP % s.pieces * REGION_PIECE;
  Real sums[5];
  for (int k = 0; k < 5; ++k) sums[k] = 0;
  for (Index i = begin + PLACE; i < begin + REGION_PIECE && i < s.pixels; i += GROUP_SIZE) {
    const Index label = target[first + i];
    if (label == s.ignore_index) continue;
    const Real logit = load(logits, set * s.pixels + i);
    const Real distance = s.sigmoid ? (Real)0 : lse[first + i];
    const Real p = probability(&s, logit, distance);
    sums[1] += p;
    sums[2] += p * p;
    if (label != class_number) continue;
    sums[0] += p;
    sums[3] += 1;
    if (!s.sigmoid) sums[4] += distance - logit;
  }
  for (int k = 0; k < 5; ++k) {
    const Real sum = group_sum(shared, sums[k]);
    if (PLACE == 0) partial[k * s.batch * s.classes * s.pieces + GROUP] = sum;
  }
}

FUNCTION Real added(GLOBAL const Real* x, Index n) {
  Real sum = 0;
  for (Index i = 0; i < n; ++i) sum += x[i];
  return sum;
}

KERNEL region_totals(Region s, TENSOR(const Real, partial), TENSOR(Real, both), TENSOR(Real, sums),
                     TENSOR(Real, squares), TENSOR(Real, labels), TENSOR(Real, surprise)) {
  OPEN(const Real, partial);
  OPEN(Real, both);
  OPEN(Real, sums);
  OPEN(Real, squares);
  OPEN(Real, labels);
  OPEN(Real, surprise);
  const Index sets = s.batch * s.classes;
  const Index i = ITEM;
  if (i < sets) {
    both[i] = added(partial + i * s.pieces, s.pieces);
    sums[i] = added(partial + (sets + i) * s.pieces, s.pieces);
    squares[i] = added(partial + (2 * sets + i) * s.pieces, s.pieces);
    labels[i] = added(partial + (3 * sets + i) * s.pieces, s.pieces);
  }
  if (i < s.batch) {
    const Index of_item = s.classes * s.pieces;
    surprise[i] = added(partial + 4 * sets * s.pieces + i * of_item, of_item);
  }
}

// One work item a pixel.
KERNEL region_backward(Region s, TENSOR(const Stored, logits), TENSOR(const Index, target),
                       TENSOR(const Real, dboth), TENSOR(const Real, dsums),
                       TENSOR(const Real, dsquares), TENSOR(const Real, dsurprise),
                       TENSOR(Stored, dlogits)) {
  OPEN(const Stored, logits);
  OPEN(const Index, target);
  OPEN(const Real, dboth);
  OPEN(const Real, dsums);
  OPEN(const Real, dsquares);
  OPEN(const Real, dsurprise);
  OPEN(Stored, dlogits);
  if (ITEM >= s.batch * s.pixels) return;
  const Index item = ITEM / s.pixels;
  const Index first = item * s.classes * s.pixels + ITEM % s.pixels;
  const Index label = target[ITEM];
  const int counts = label != s.ignore_index;
  const Real lse = s.sigmoid ? (Real)0 : pixel_lse(&s, logits, first);
  Real dot = 0;
  // Of a softmax the slopes have to be known of all classes first.
  for (int writes = s.sigmoid ? 1 : 0; writes < 2; ++writes) {
    for (Index c = 0; c < s.classes; ++c) {
      const Index set = item * s.classes + c;
      const Index at = first + c * s.pixels;
      const Real p = probability(&s, load(logits, at), lse);
      const Real t = label == c ? (Real)1 : (Real)0;
      const Real dp = t * dboth[set] + dsums[set] + 2 * p * dsquares[set];
      if (!writes) {
        dot += p * dp;
      } else {
        const Real d = s.sigmoid ? p * (1 - p) * dp : p * (dp - dot) + (p - t) * dsurprise[item];
        store(dlogits, at, counts ? d : (Real)0);
      }
    }
  }
}

// Of a class a group counts a piece of all pixels: those of it, and those of them that have a
// 4-neighbour of another class or outside the image; partial is (2, classes, pieces).
KERNEL region_area_pieces(Index height, Index width, Index pixels, Index pieces, Index classes,
                          TENSOR(const Index, target), TENSOR(Real, partial)) {
  OPEN(const Index, target);
  OPEN(Real, partial);
  LOCAL Real shared[GROUP_SIZE];
  const Index label = GROUP / pieces;
  const Index begin = GROUP % pieces * REGION_PIECE;
  Real area = 0, boundary = 0;
  for (Index i = begin + PLACE; i < begin + REGION_PIECE && i < pixels; i += GROUP_SIZE) {
    if (target[i] != label) continue;
    const Index w = i % width, h = i / width % height;
    const int inside = w > 0 && w + 1 < width && h > 0 && h + 1 < height &&
                       target[i - 1] == label && target[i + 1] == label &&
                       target[i - width] == label && target[i + width] == label;
    area += 1;
    boundary += inside ? 0 : 1;
  }
  area = group_sum(shared, area);
  boundary = group_sum(shared, boundary);
  if (PLACE != 0) return;
  partial[GROUP] = area;
  partial[classes * pieces + GROUP] = boundary;
}

KERNEL region_areas(Index classes, Index pieces, TENSOR(const Real, partial), TENSOR(Real, area),
                    TENSOR(Real, boundary)) {
  OPEN(const Real, partial);
  OPEN(Real, area);
  OPEN(Real, boundary);
  if (ITEM >= 2 * classes) return;
  const Real sum = added(partial + ITEM * pieces, pieces);
  if (ITEM < classes) {
    area[ITEM] = sum;
  } else {
    boundary[ITEM - classes] = sum;
  }
}
