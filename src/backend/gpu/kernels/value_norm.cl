// Layer attention over a running sum of maps, and its gradients (kcla 2.9): y = x + keep act(norm(v)),
// v = scale times the depthwise 3x3 convolution of u, which is made anew wherever it is read. Work items
// share planes as in channel_norm.cl.
#include "types.h"
#include "operations.h"
#include "group.h"
#include "planes.h"

// Of a plane of maps `width` wide; u and what belongs to the norm. weight, bias and keep may be 0.
typedef struct {
  GLOBAL const Stored* u;
  GLOBAL const Real* taps;  // (channels, 9)
  GLOBAL const Real* scale;
  GLOBAL const Real* mean;
  GLOBAL const Real* rstd;
  GLOBAL const Real* weight;
  GLOBAL const Real* bias;
  GLOBAL const Real* keep;
  int width;
} ValueMap;

#define VALUE_PARAMETERS                                                                        \
  Int32 width, TENSOR(const Stored, u), TENSOR(const Real, taps), TENSOR(const Real, scale),    \
      TENSOR(const Real, mean), TENSOR(const Real, rstd), TENSOR(const Real, weight),           \
      TENSOR(const Real, bias), TENSOR(const Real, keep)
#define OPEN_VALUE                                                                              \
  ValueMap of;                                                                                  \
  of.u = u_memory + u_first;                                                                    \
  of.taps = taps_memory + taps_first;                                                           \
  of.scale = scale_memory + scale_first;                                                        \
  of.mean = mean_memory + mean_first;                                                           \
  of.rstd = rstd_memory + rstd_first;                                                           \
  of.weight = weight_memory + weight_first;                                                     \
  of.bias = bias_memory + bias_first;                                                           \
  of.keep = keep_memory + keep_first;                                                           \
  of.width = width

// Where tap k of the window around place i of a plane lies, counted from i; 0 outside for `there`.
FUNCTION int tap_at(const Planes* s, int width, int i, int k, int* there) {
  const int h = i / width + k / 3 - 1;
  const int w = i % width + k % 3 - 1;
  *there = h >= 0 && h < s->space / width && w >= 0 && w < width;
  return (k / 3 - 1) * width + k % 3 - 1;
}

// v at element i of a plane.
FUNCTION Real value_at(const Planes* s, const ValueMap* of, Index plane, Index i) {
  Real sum = 0;
  for (int k = 0; k < 9; ++k) {
    int there;
    const int away = tap_at(s, of->width, (int)(i - plane * s->space), k, &there);
    if (there) sum += of->taps[plane % s->channels * 9 + k] * load(of->u, i + away);
  }
  return of->scale[plane] * sum;
}

// The normed value, and what it is before act.
typedef struct {
  Real normed, result;
} NormedValue;

FUNCTION NormedValue normed_value(const Planes* s, const ValueMap* of, Index plane, Index i) {
  const Index channel = plane % s->channels;
  NormedValue value;
  value.normed = (value_at(s, of, plane, i) - of->mean[channel]) * of->rstd[channel];
  value.result = value.normed * (of->weight ? of->weight[channel] : (Real)1) +
                 (of->bias ? of->bias[channel] : (Real)0);
  return value;
}
// What keep and act let through of dy.
FUNCTION Real passed_by(const Planes* s, const ValueMap* of, Index plane, Real result, Real dy) {
  if (s->relu && result <= 0) return 0;
  return of->keep ? of->keep[plane] * dy : dy;
}

// As channel_piece_stats, of v.
KERNEL value_piece_stats(Rows rows, Planes s, VALUE_PARAMETERS, TENSOR(Real, means),
                         TENSOR(Real, squares)) {
  OPEN_VALUE;
  OPEN(Real, means);
  OPEN(Real, squares);
  LOCAL Real shared[GROUP_SIZE];
  const Piece piece = piece_of(&rows, &s);
  Real sum = 0;
  EACH_OF_PIECE(i) sum += value_at(&s, &of, piece.plane, i);
  const Real middle = piece_mean(&rows, &piece, shared, sum);
  sum = 0;
  EACH_OF_PIECE(i) {
    const Real centred = value_at(&s, &of, piece.plane, i) - middle;
    sum += centred * centred;
  }
  put_piece(&rows, means, middle, squares, team_sum(rows.team, shared, sum));
}

KERNEL value_norm(Rows rows, Planes s, VALUE_PARAMETERS, TENSOR(const Stored, x),
                  TENSOR(Stored, y)) {
  OPEN_VALUE;
  OPEN(const Stored, x);
  OPEN(Stored, y);
  const Piece piece = piece_of(&rows, &s);
  EACH_OF_PIECE(i) {
    const Real result = normed_value(&s, &of, piece.plane, i).result;
    const Real value = passed_by(&s, &of, piece.plane, result, result);
    store(y, i, IS_DEFINED(x) ? load(x, i) + value : value);
  }
}

// As channel_piece_sums, of v.
KERNEL value_piece_sums(Rows rows, Planes s, VALUE_PARAMETERS, TENSOR(const Stored, dy),
                        TENSOR(Real, sums), TENSOR(Real, with_normed)) {
  OPEN_VALUE;
  OPEN(const Stored, dy);
  OPEN(Real, sums);
  OPEN(Real, with_normed);
  LOCAL Real shared[GROUP_SIZE];
  const Piece piece = piece_of(&rows, &s);
  Real sum = 0, product = 0;
  EACH_OF_PIECE(i) {
    const NormedValue at = normed_value(&s, &of, piece.plane, i);
    const Real dz = passed_by(&s, &of, piece.plane, at.result, load(dy, i));
    sum += dz;
    product += dz * at.normed;
  }
  sum = team_sum(rows.team, shared, sum);
  product = team_sum(rows.team, shared, product);
  put_piece(&rows, sums, sum, with_normed, product);
}

// The gradient of v, as channel_norm_backward makes it.
KERNEL value_gradient(Rows rows, Planes s, VALUE_PARAMETERS, TENSOR(const Real, mean_e),
                      TENSOR(const Real, mean_with_normed), TENSOR(const Stored, dy),
                      TENSOR(Real, dv)) {
  OPEN_VALUE;
  OPEN(const Real, mean_e);
  OPEN(const Real, mean_with_normed);
  OPEN(const Stored, dy);
  OPEN(Real, dv);
  const Piece piece = piece_of(&rows, &s);
  const Index channel = piece.plane % s.channels;
  EACH_OF_PIECE(i) {
    const NormedValue at = normed_value(&s, &of, piece.plane, i);
    Real e = passed_by(&s, &of, piece.plane, at.result, load(dy, i));
    if (of.weight) e *= of.weight[channel];
    dv[i] = norm_gradient(e, at.normed, of.rstd[channel], mean_e, mean_with_normed, channel);
  }
}

// Rows are the taps of all planes: the sum of dv u over the places of a tap.
KERNEL value_taps(Rows rows, Planes s, Int32 width, TENSOR(const Stored, u), TENSOR(const Real, dv),
                  TENSOR(Real, sums)) {
  OPEN(const Stored, u);
  OPEN(const Real, dv);
  OPEN(Real, sums);
  LOCAL Real shared[GROUP_SIZE];
  const Index row = row_of(&rows);
  const Index first = row / 9 * s.space;
  const Index n = length_of(&rows, row);
  Real sum = 0;
  for (Index i = PLACE % rows.team; i < n; i += rows.team) {
    int there;
    const int away = tap_at(&s, width, (int)i, (int)(row % 9), &there);
    if (there) sum += dv[first + i] * load(u, first + i + away);
  }
  sum = team_sum(rows.team, shared, sum);
  if (PLACE % rows.team == 0 && row < rows.count) sums[row] = sum;
}

// From these the gradients of the scales, one a plane, and of the taps.
KERNEL value_parameters(Planes s, TENSOR(const Real, sums), TENSOR(const Real, taps),
                        TENSOR(const Real, scale), TENSOR(Real, dscale), TENSOR(Real, dtaps)) {
  OPEN(const Real, sums);
  OPEN(const Real, taps);
  OPEN(const Real, scale);
  OPEN(Real, dscale);
  OPEN(Real, dtaps);
  const Index i = ITEM;
  if (i < s.batch * s.channels) {
    Real sum = 0;
    for (int k = 0; k < 9; ++k) sum += sums[i * 9 + k] * taps[i % s.channels * 9 + k];
    dscale[i] = sum;
  }
  if (i < s.channels * 9) {
    Real sum = 0;
    for (Index item = 0; item < s.batch; ++item)
      sum += sums[item * s.channels * 9 + i] * scale[item * s.channels + i / 9];
    dtaps[i] = sum;
  }
}

// The gradient of u, or what comes from later layers and that; and of x, w times it (+ dy), which may be
// written over dy.
KERNEL value_back(Rows rows, Planes s, Int32 width, Int32 adds, TENSOR(const Real, taps),
                  TENSOR(const Real, scale), TENSOR(const Real, w), TENSOR(const Real, dv),
                  TENSOR(const Stored, dy), TENSOR(Stored, du), TENSOR(Stored, dx)) {
  OPEN(const Real, taps);
  OPEN(const Real, scale);
  OPEN(const Real, w);
  OPEN(const Real, dv);
  OPEN(const Stored, dy);
  OPEN(Stored, du);
  OPEN(Stored, dx);
  const Piece piece = piece_of(&rows, &s);
  EACH_OF_PIECE(i) {
    Real sum = 0;
    for (int k = 0; k < 9; ++k) {
      int there;
      const int away = tap_at(&s, width, (int)(i - piece.plane * s.space), 8 - k, &there);
      if (there) sum += taps[piece.plane % s.channels * 9 + k] * dv[i + away];
    }
    sum *= scale[piece.plane];
    if (adds) sum += load(du, i);
    store(du, i, sum);
    if (IS_DEFINED(dx))
      store(dx, i, w[piece.plane] * sum + (IS_DEFINED(dy) ? load(dy, i) : (Real)0));
  }
}
