// Batch norm and group norm of maps, and their gradients; sums of planes. A plane, the places of one
// channel of one item, is summed in pieces by teams (group.h); what pieces gave is added in order.
#include "types.h"
#include "operations.h"
#include "group.h"
#include "planes.h"

// Of every piece the mean, and the sum of squares around it.
KERNEL channel_piece_stats(Rows rows, Planes s, TENSOR(const Stored, x), TENSOR(Real, means),
                           TENSOR(Real, squares)) {
  OPEN(const Stored, x);
  OPEN(Real, means);
  OPEN(Real, squares);
  LOCAL Real shared[GROUP_SIZE];
  const Piece piece = piece_of(&rows, &s);
  Real sum = 0;
  EACH_OF_PIECE(i) sum += load(x, i);
  const Real middle = piece_mean(&rows, &piece, shared, sum);
  sum = 0;
  EACH_OF_PIECE(i) {
    const Real centred = load(x, i) - middle;
    sum += centred * centred;
  }
  put_piece(&rows, means, middle, squares, team_sum(rows.team, shared, sum));
}

// A group joins the pieces of a set: squares around the mean of all are those around the pieces' own
// and those of the distances between the means.
KERNEL channel_set_stats(Planes s, Real eps, TENSOR(const Real, means), TENSOR(const Real, squares),
                         TENSOR(Real, mean), TENSOR(Real, rstd)) {
  OPEN(const Real, means);
  OPEN(const Real, squares);
  OPEN(Real, mean);
  OPEN(Real, rstd);
  LOCAL Real shared[GROUP_SIZE];
  const Index parts = planes_of_set(&s) * s.pieces;
  const Real n = (Real)(parts > 0 ? planes_of_set(&s) * s.space : 1);
  Real sum = 0;
  for (Index k = PLACE; k < parts; k += GROUP_SIZE) {
    const Index at = plane_of_set(&s, GROUP, k / s.pieces) * s.pieces + k % s.pieces;
    sum += means[at] * (Real)piece_length(&s, k % s.pieces);
  }
  const Real middle = group_sum(shared, sum) / n;
  sum = 0;
  for (Index k = PLACE; k < parts; k += GROUP_SIZE) {
    const Index at = plane_of_set(&s, GROUP, k / s.pieces) * s.pieces + k % s.pieces;
    const Real distance = means[at] - middle;
    sum += squares[at] + distance * distance * (Real)piece_length(&s, k % s.pieces);
  }
  sum = group_sum(shared, sum);
  if (PLACE != 0) return;
  mean[GROUP] = middle;
  rstd[GROUP] = 1 / sqrt(sum / n + eps);
}

// The tensors of a normed map; weight, bias, residual and y may be 0.
typedef struct {
  GLOBAL const Stored* x;
  GLOBAL const Real* mean;
  GLOBAL const Real* rstd;
  GLOBAL const Real* weight;
  GLOBAL const Real* bias;
  GLOBAL const Stored* residual;
  GLOBAL const Stored* y;
} NormedMap;

FUNCTION Real normed_at(const Planes* s, const NormedMap* of, Index plane, Index i) {
  const Index set = set_of_plane(s, plane);
  return (load(of->x, i) - of->mean[set]) * of->rstd[set];
}
FUNCTION Real result_at(const Planes* s, const NormedMap* of, Index plane, Index i) {
  Real value = normed_at(s, of, plane, i);
  if (of->weight != 0) value *= of->weight[plane % s->channels];
  if (of->bias != 0) value += of->bias[plane % s->channels];
  return of->residual != 0 ? value + load(of->residual, i) : value;
}
// What the ReLU lets through of dy.
FUNCTION Real passed_at(const Planes* s, const NormedMap* of, GLOBAL const Stored* dy, Index plane,
                        Index i) {
  if (!s->relu) return load(dy, i);
  const Real result = of->y != 0 ? load(of->y, i) : result_at(s, of, plane, i);
  return result > 0 ? load(dy, i) : (Real)0;
}

#define MAP_PARAMETERS                                                                          \
  TENSOR(const Stored, x), TENSOR(const Real, mean), TENSOR(const Real, rstd),                  \
      TENSOR(const Real, weight), TENSOR(const Real, bias), TENSOR(const Stored, residual),     \
      TENSOR(const Stored, y)
#define OPEN_MAP                                                                                \
  NormedMap of;                                                                                 \
  of.x = x_memory + x_first;                                                                    \
  of.mean = mean_memory + mean_first;                                                           \
  of.rstd = rstd_memory + rstd_first;                                                           \
  of.weight = weight_memory + weight_first;                                                     \
  of.bias = bias_memory + bias_first;                                                           \
  of.residual = residual_memory + residual_first;                                               \
  of.y = y_memory + y_first

KERNEL channel_norm(Rows rows, Planes s, MAP_PARAMETERS, TENSOR(Stored, to)) {
  OPEN_MAP;
  OPEN(Stored, to);
  const Piece piece = piece_of(&rows, &s);
  EACH_OF_PIECE(i) {
    const Real value = result_at(&s, &of, piece.plane, i);
    store(to, i, s.relu && value <= 0 ? (Real)0 : value);
  }
}

// Of every piece the sums of dz and dz normed, dz = what is passed of dy.
KERNEL channel_piece_sums(Rows rows, Planes s, MAP_PARAMETERS, TENSOR(const Stored, dy),
                          TENSOR(Real, sums), TENSOR(Real, with_normed)) {
  OPEN_MAP;
  OPEN(const Stored, dy);
  OPEN(Real, sums);
  OPEN(Real, with_normed);
  LOCAL Real shared[GROUP_SIZE];
  const Piece piece = piece_of(&rows, &s);
  Real sum = 0, product = 0;
  EACH_OF_PIECE(i) {
    const Real dz = passed_at(&s, &of, dy, piece.plane, i);
    sum += dz;
    product += dz * normed_at(&s, &of, piece.plane, i);
  }
  sum = team_sum(rows.team, shared, sum);
  product = team_sum(rows.team, shared, product);
  put_piece(&rows, sums, sum, with_normed, product);
}

// A work item adds the pieces of a channel: dbias, dweight; and those of a set, each times its weight:
// the means of e = dz weight and e normed.
KERNEL channel_totals(Planes s, Index sets, TENSOR(const Real, sums), TENSOR(const Real, with_normed),
                      TENSOR(const Real, weight), TENSOR(Real, dweight), TENSOR(Real, dbias),
                      TENSOR(Real, mean_e), TENSOR(Real, mean_with_normed)) {
  OPEN(const Real, sums);
  OPEN(const Real, with_normed);
  OPEN(const Real, weight);
  OPEN(Real, dweight);
  OPEN(Real, dbias);
  OPEN(Real, mean_e);
  OPEN(Real, mean_with_normed);
  const Index i = ITEM;
  if (i < s.channels) {
    Real sum = 0, product = 0;
    for (Index item = 0; item < s.batch; ++item) {
      for (Index piece = 0; piece < s.pieces; ++piece) {
        sum += sums[(item * s.channels + i) * s.pieces + piece];
        product += with_normed[(item * s.channels + i) * s.pieces + piece];
      }
    }
    if (IS_DEFINED(dbias)) dbias[i] = sum;
    if (IS_DEFINED(dweight)) dweight[i] = product;
  }
  if (i < sets) {
    const Index planes = planes_of_set(&s);
    Real sum = 0, product = 0;
    for (Index k = 0; k < planes; ++k) {
      const Index plane = plane_of_set(&s, i, k);
      const Real factor = IS_DEFINED(weight) ? weight[plane % s.channels] : (Real)1;
      for (Index piece = plane * s.pieces; piece < (plane + 1) * s.pieces; ++piece) {
        sum += factor * sums[piece];
        product += factor * with_normed[piece];
      }
    }
    mean_e[i] = sum / (Real)(planes * s.space);
    mean_with_normed[i] = product / (Real)(planes * s.space);
  }
}

// The gradients of x and of the residual; either may be written over dy.
KERNEL channel_norm_backward(Rows rows, Planes s, MAP_PARAMETERS, TENSOR(const Real, mean_e),
                             TENSOR(const Real, mean_with_normed), TENSOR(const Stored, dy),
                             TENSOR(Stored, dx), TENSOR(Stored, dresidual)) {
  OPEN_MAP;
  OPEN(const Real, mean_e);
  OPEN(const Real, mean_with_normed);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  OPEN(Stored, dresidual);
  const Piece piece = piece_of(&rows, &s);
  const Index plane = piece.plane;
  const Index set = set_of_plane(&s, plane);
  EACH_OF_PIECE(i) {
    const Real dz = passed_at(&s, &of, dy, plane, i);
    if (IS_DEFINED(dx)) {
      const Real e = of.weight != 0 ? dz * of.weight[plane % s.channels] : dz;
      const Real normed = normed_at(&s, &of, plane, i);
      store(dx, i, norm_gradient(e, normed, of.rstd[set], mean_e, mean_with_normed, set));
    }
    if (IS_DEFINED(dresidual)) store(dresidual, i, dz);
  }
}

// y = w x + u; rows are planes. u may be y.
KERNEL scaled_sum(Rows rows, TENSOR(const Stored, u), TENSOR(const Real, w),
                  TENSOR(const Stored, x), TENSOR(Stored, y)) {
  OPEN(const Stored, u);
  OPEN(const Real, w);
  OPEN(const Stored, x);
  OPEN(Stored, y);
  const Index row = row_of(&rows);
  const Index end = row * rows.n + length_of(&rows, row);
  for (Index i = row * rows.n + PLACE % rows.team; i < end; i += rows.team) {
    const Real value = w[row] * load(x, i);
    store(y, i, IS_DEFINED(u) ? value + load(u, i) : value);
  }
}

// Rows are planes.
KERNEL scaled_sum_backward(Rows rows, TENSOR(const Stored, x), TENSOR(const Stored, dy),
                           TENSOR(Real, dw)) {
  OPEN(const Stored, x);
  OPEN(const Stored, dy);
  OPEN(Real, dw);
  LOCAL Real shared[GROUP_SIZE];
  const Index row = row_of(&rows);
  const Index n = length_of(&rows, row);
  Real sum = 0;
  for (Index i = PLACE % rows.team; i < n; i += rows.team)
    sum += load(dy, row * rows.n + i) * load(x, row * rows.n + i);
  sum = team_sum(rows.team, shared, sum);
  if (PLACE % rows.team == 0 && row < rows.count) dw[row] = sum;
}
