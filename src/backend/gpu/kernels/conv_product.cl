// Convolution as products of matrices whose one operand is gathered from the image on the way ("implicit
// GEMM"): within a group of channels
//   y (outputs, batch out) = weight (outputs, inputs taps) patches of x,
//   dx (inputs, batch in) = weight^T (inputs, outputs taps) patches of dy,
//   dweight (outputs, inputs taps) = dy (outputs, batch out) patches of x^T.

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

KERNEL conv_product(ConvShape s, TENSOR(const Stored, x), TENSOR(const Real, weight),
                    TENSOR(const Real, bias), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(const Real, weight);
  OPEN(const Real, bias);
  OPEN(Stored, y);
  LOCAL Real left[STEP][PRODUCT_TILE];
  LOCAL Real right[STEP][PRODUCT_TILE];
  const Index inputs = s.in_channels / s.groups;
  const Index outputs = s.out_channels / s.groups;
  const Index taps = VOLUME(s.kernel_size);
  const Index columns = s.batch * VOLUME(s.out);
  const Index depth = inputs * taps;
  const Index group = GROUP / (TILES(columns) * TILES(outputs));
  const Index row = GROUP / TILES(columns) % TILES(outputs) * PRODUCT_TILE;
  const Index column = GROUP % TILES(columns) * PRODUCT_TILE;
  const int bj = PLACE % PRODUCT_TILE;
  const Position at = position_of(column + bj, columns, s.out);
  const Index image = at.item * s.in_channels + group * inputs;
  Real sums[EACH][EACH];
  clear_tile(sums);

  for (Index k = 0; k < depth; k += STEP) {
    for (int e = PLACE; e < STEP * PRODUCT_TILE; e += GROUP_SIZE) {
      const int ai = e / STEP;
      const int ak = e % STEP;
      left[ak][ai] = row + ai < outputs && k + ak < depth
                         ? weight[(group * outputs + row + ai) * depth + k + ak]
                         : (Real)0;
      const int bk = e / PRODUCT_TILE;
      const Index channel = (k + bk) / taps;
      const Index from = at.there && k + bk < depth
                             ? input_at(&s, at.point, point_of((k + bk) % taps, s.kernel_size))
                             : -1;
      right[bk][bj] = from < 0 ? (Real)0 : load(x, (image + channel) * VOLUME(s.in) + from);
    }
    SYNCHRONIZE;
    add_step(left, right, sums);
    SYNCHRONIZE;
  }

  for (int j = 0; j < EACH; ++j) {
    const Position to = position_of(column + TILE_COLUMN(j), columns, s.out);
    if (!to.there) continue;
    for (int i = 0; i < EACH; ++i) {
      if (row + TILE_ROW(i) >= outputs) continue;
      const Index channel = group * outputs + row + TILE_ROW(i);
      store(y, (to.item * s.out_channels + channel) * VOLUME(s.out) + to.flat,
            sums[i][j] + (IS_DEFINED(bias) ? bias[channel] : (Real)0));
    }
  }
}

KERNEL conv_product_data(ConvShape s, TENSOR(const Real, weight), TENSOR(const Stored, dy),
                         TENSOR(Stored, dx)) {
  OPEN(const Real, weight);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  LOCAL Real left[STEP][PRODUCT_TILE];
  LOCAL Real right[STEP][PRODUCT_TILE];
  const Index inputs = s.in_channels / s.groups;
  const Index outputs = s.out_channels / s.groups;
  const Index taps = VOLUME(s.kernel_size);
  const Index columns = s.batch * VOLUME(s.in);
  const Index depth = outputs * taps;
  const Index group = GROUP / (TILES(columns) * TILES(inputs));
  const Index row = GROUP / TILES(columns) % TILES(inputs) * PRODUCT_TILE;
  const Index column = GROUP % TILES(columns) * PRODUCT_TILE;
  const int bj = PLACE % PRODUCT_TILE;
  const Position at = position_of(column + bj, columns, s.in);
  const Index image = at.item * s.out_channels + group * outputs;
  Real sums[EACH][EACH];
  clear_tile(sums);

  for (Index k = 0; k < depth; k += STEP) {
    for (int e = PLACE; e < STEP * PRODUCT_TILE; e += GROUP_SIZE) {
      const int ai = e / STEP;
      const int ak = e % STEP;
      const Index output = group * outputs + (k + ak) / taps;
      left[ak][ai] = row + ai < inputs && k + ak < depth
                         ? weight[(output * inputs + row + ai) * taps + (k + ak) % taps]
                         : (Real)0;
      const int bk = e / PRODUCT_TILE;
      const Index channel = (k + bk) / taps;
      const Index from = at.there && k + bk < depth
                             ? output_at(&s, at.point, point_of((k + bk) % taps, s.kernel_size))
                             : -1;
      right[bk][bj] = from < 0 ? (Real)0 : load(dy, (image + channel) * VOLUME(s.out) + from);
    }
    SYNCHRONIZE;
    add_step(left, right, sums);
    SYNCHRONIZE;
  }

  for (int j = 0; j < EACH; ++j) {
    const Position to = position_of(column + TILE_COLUMN(j), columns, s.in);
    if (!to.there) continue;
    for (int i = 0; i < EACH; ++i) {
      if (row + TILE_ROW(i) >= inputs) continue;
      const Index channel = group * inputs + row + TILE_ROW(i);
      store(dx, (to.item * s.in_channels + channel) * VOLUME(s.in) + to.flat, sums[i][j]);
    }
  }
}

// The positions are cut into pieces of `piece`, which are many where the result is small: partial
// (pieces, weight), to be summed.
KERNEL conv_product_weight(ConvShape s, Index piece, TENSOR(const Stored, x),
                           TENSOR(const Stored, dy), TENSOR(Real, partial)) {
  OPEN(const Stored, x);
  OPEN(const Stored, dy);
  OPEN(Real, partial);
  LOCAL Real left[STEP][PRODUCT_TILE];
  LOCAL Real right[STEP][PRODUCT_TILE];
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
  const int ak = PLACE % STEP;
  Real sums[EACH][EACH];
  clear_tile(sums);

  for (Index k = number * piece; k < end; k += STEP) {
    const Position at = position_of(k + ak, end, s.out);
    for (int e = PLACE; e < STEP * PRODUCT_TILE; e += GROUP_SIZE) {
      const int i = e / STEP;
      const Index output = at.item * s.out_channels + group * outputs + row + i;
      left[ak][i] = at.there && row + i < outputs
                        ? load(dy, output * VOLUME(s.out) + at.flat)
                        : (Real)0;
      const Index input = at.item * s.in_channels + group * inputs + (column + i) / taps;
      const Index from =
          at.there && column + i < columns
              ? input_at(&s, at.point, point_of((column + i) % taps, s.kernel_size))
              : -1;
      right[ak][i] = from < 0 ? (Real)0 : load(x, input * VOLUME(s.in) + from);
    }
    SYNCHRONIZE;
    add_step(left, right, sums);
    SYNCHRONIZE;
  }

  for (int i = 0; i < EACH; ++i) {
    for (int j = 0; j < EACH; ++j) {
      const Index r = row + TILE_ROW(i);
      const Index c = column + TILE_COLUMN(j);
      if (r < outputs && c < columns)
        partial[((number * s.groups + group) * outputs + r) * columns + c] = sums[i][j];
    }
  }
}
