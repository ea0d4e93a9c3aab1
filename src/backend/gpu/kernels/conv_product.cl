// Convolution as products of matrices whose one operand is gathered from the image on the way ("implicit
// GEMM"): within a group of channels
//   y (outputs, batch out) = weight (outputs, inputs taps) patches of x,
//   dx (inputs, batch in) = weight^T (inputs, outputs taps) patches of dy,
//   dweight (outputs, inputs taps) = dy (outputs, batch out) patches of x^T.
// Where maps are bfloat16 the weight is rounded to that.
#include "types.h"
#include "grid.h"
#include "warp_tile.h"

// Elements of a patch matrix have a position that stays for a work item, and taps that come by.
typedef struct {
  Index item;  // of the batch
  Point point;
  Index flat;  // point as an index
  int there;
} Position;

FUNCTION Position position_of(Index n, Index count, const Index* sizes) {
  Position p;
  p.item = n / VOLUME(sizes);
  p.flat = n % VOLUME(sizes);
  p.point = point_of(p.flat, sizes);
  p.there = n < count;
  return p;
}

#define PATCH_STRIDE PADDED(PRODUCT_TILE)

// The first two of the products: `to` is y and `from` x, or with `back` dx and dy.
FUNCTION void make_map(const ConvShape* s, int back, GLOBAL const Real* weight,
                       GLOBAL const Stored* from, GLOBAL const Real* bias, GLOBAL Stored* to,
                       SHARED Stored* left, SHARED Stored* right) {
  const Index inputs = s->in_channels / s->groups;
  const Index outputs = s->out_channels / s->groups;
  const Index read = back ? outputs : inputs;  // channels of a group
  const Index made = back ? inputs : outputs;
  const Index* from_sizes = back ? s->out : s->in;
  const Index* to_sizes = back ? s->in : s->out;
  const Index taps = VOLUME(s->kernel_size);
  const Index columns = s->batch * VOLUME(to_sizes);
  const Index depth = read * taps;
  const Index group = GROUP / (TILES(columns) * TILES(made));
  const Index row = GROUP / TILES(columns) % TILES(made) * PRODUCT_TILE;
  const Index column = GROUP % TILES(columns) * PRODUCT_TILE;
  const int bj = PLACE % PRODUCT_TILE;
  const Position at = position_of(column + bj, columns, to_sizes);
  const Index image = (at.item * s->groups + group) * read;
  Real sums[PRODUCT_SQUARES][SQUARE_SUMS];
  clear_squares(PRODUCT_SQUARES, sums);

  for (Index k = 0; k < depth; k += PRODUCT_STEP) {
    for (int e = PLACE; e < PRODUCT_STEP * PRODUCT_TILE; e += GROUP_SIZE) {
      const Index ai = row + e / PRODUCT_STEP;
      const Index ak = k + e % PRODUCT_STEP;
      const Index tap = back ? ((group * outputs + ak / taps) * inputs + ai) * taps + ak % taps
                             : (group * outputs + ai) * depth + ak;
      left[e / PRODUCT_STEP * PRODUCT_STRIDE + e % PRODUCT_STEP] =
          stored_of(ai < made && ak < depth ? weight[tap] : (Real)0);
      const Index bk = k + e / PRODUCT_TILE;
      Index reads = -1;
      if (at.there && bk < depth) {
        const Point offset = point_of(bk % taps, s->kernel_size);
        reads = back ? output_at(s, at.point, offset) : input_at(s, at.point, offset);
      }
      right[e / PRODUCT_TILE * PATCH_STRIDE + bj] =
          reads < 0 ? (Stored)0 : from[(image + bk / taps) * VOLUME(from_sizes) + reads];
    }
    SYNCHRONIZE;
    add_product_of_columns(left, PRODUCT_STRIDE, right, PATCH_STRIDE, product_depth(depth - k),
                           PRODUCT_TILE, PRODUCT_SQUARES, sums);
    SYNCHRONIZE;
  }

  for (int j = 0; j < PRODUCT_SQUARES; ++j) {
    for (int e = 0; e < SQUARE_SUMS; ++e) {
      const Position place = position_of(column + TILE_COLUMN(j, e), columns, to_sizes);
      if (!place.there || row + TILE_ROW(e) >= made) continue;
      const Index channel = group * made + row + TILE_ROW(e);
      store(to, (place.item * made * s->groups + channel) * VOLUME(to_sizes) + place.flat,
            sums[j][e] + (bias ? bias[channel] : (Real)0));
    }
  }
}

KERNEL conv_product(ConvShape s, TENSOR(const Stored, x), TENSOR(const Real, weight),
                    TENSOR(const Real, bias), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(const Real, weight);
  OPEN(Stored, y);
  LOCAL Stored left[PRODUCT_TILE * PRODUCT_STRIDE];
  LOCAL Stored right[PRODUCT_STEP * PATCH_STRIDE];
  make_map(&s, 0, weight, x, IS_DEFINED(bias) ? bias_memory + bias_first : 0, y, left, right);
}

KERNEL conv_product_data(ConvShape s, TENSOR(const Real, weight), TENSOR(const Stored, dy),
                         TENSOR(Stored, dx)) {
  OPEN(const Real, weight);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  LOCAL Stored left[PRODUCT_TILE * PRODUCT_STRIDE];
  LOCAL Stored right[PRODUCT_STEP * PATCH_STRIDE];
  make_map(&s, 1, weight, dy, 0, dx, left, right);
}

// The positions are cut into pieces of `piece`, which are many where the result is small: partial
// (pieces, weight), to be summed.
KERNEL conv_product_weight(ConvShape s, Index piece, TENSOR(const Stored, x),
                           TENSOR(const Stored, dy), TENSOR(Real, partial)) {
  OPEN(const Stored, x);
  OPEN(const Stored, dy);
  OPEN(Real, partial);
  LOCAL Stored left[PRODUCT_TILE * PRODUCT_STRIDE];
  LOCAL Stored right[PRODUCT_TILE * PRODUCT_STRIDE];
  const Index inputs = s.in_channels / s.groups;
  const Index outputs = s.out_channels / s.groups;
  const Index taps = VOLUME(s.kernel_size);
  const Index columns = inputs * taps;
  const Index tiles = TILES(columns) * TILES(outputs);
  const Index group = GROUP / tiles % s.groups;
  const Index row = GROUP / TILES(columns) % TILES(outputs) * PRODUCT_TILE;
  const Index column = GROUP % TILES(columns) * PRODUCT_TILE;
  const Index number = GROUP / tiles / s.groups;
  const Index all = s.batch * VOLUME(s.out);
  const Index end = (number + 1) * piece < all ? (number + 1) * piece : all;
  const int ak = PLACE % PRODUCT_STEP;
  Real sums[PRODUCT_SQUARES][SQUARE_SUMS];
  clear_squares(PRODUCT_SQUARES, sums);

  for (Index k = number * piece; k < end; k += PRODUCT_STEP) {
    const Position at = position_of(k + ak, end, s.out);
    for (int e = PLACE; e < PRODUCT_STEP * PRODUCT_TILE; e += GROUP_SIZE) {
      const int i = e / PRODUCT_STEP;
      const Index output = at.item * s.out_channels + group * outputs + row + i;
      left[i * PRODUCT_STRIDE + ak] =
          at.there && row + i < outputs ? dy[output * VOLUME(s.out) + at.flat] : (Stored)0;
      const Index input = at.item * s.in_channels + group * inputs + (column + i) / taps;
      const Index from =
          at.there && column + i < columns
              ? input_at(&s, at.point, point_of((column + i) % taps, s.kernel_size))
              : -1;
      right[i * PRODUCT_STRIDE + ak] = from < 0 ? (Stored)0 : x[input * VOLUME(s.in) + from];
    }
    SYNCHRONIZE;
    add_product_of_rows(left, PRODUCT_STRIDE, right, PRODUCT_STRIDE, product_depth(end - k),
                        PRODUCT_TILE, PRODUCT_SQUARES, sums);
    SYNCHRONIZE;
  }

  for (int j = 0; j < PRODUCT_SQUARES; ++j) {
    for (int e = 0; e < SQUARE_SUMS; ++e) {
      const Index r = row + TILE_ROW(e);
      const Index c = column + TILE_COLUMN(j, e);
      if (r < outputs && c < columns)
        partial[((number * s.groups + group) * outputs + r) * columns + c] = sums[j][e];
    }
  }
}
