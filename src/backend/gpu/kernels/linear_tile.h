// What the kernels of linear attention share. With f and g of every query (linear_weights),
//   y = f (Q S) - g u,   S = K^T v,   u = the sum of the rows of v,   z = c Q . s,
// of two maps the sum over both; columns of S and u may have parameters. A ratio has f = 1 / (z + eps)
// and no g. mala 3.2, gdla 2.3. Causal (mala 3.4), S is that before a block of LINEAR_ROWS tokens, s
// and u are those up to each token, and inside the block every query meets the keys up to its own.
//
// A group has such a block of one head, whose products are tiles of warps (warp_tile.h). The left operand,
// of the block's rows, and the right one pass through local memory LINEAR_SLICE of their depth at a time,
// rounded to what is stored; factors of rows multiply sums, which are not rounded. A pair of channels that
// rotary positions turn is in one lane, as sums e and e ^ 1. Loops with barriers run at least once, and
// none stands under a condition: PoCL would copy all that follows.

#define LINEAR_SLICE (8 * CHUNK)
#define LINEAR_SQUARES (LINEAR_WIDTH / SQUARE_STEP)
#define LINEAR_LEFT_STRIDE PADDED(LINEAR_SLICE)
#define LINEAR_RIGHT_STRIDE PADDED(LINEAR_WIDTH)
#define LINEAR_LEFT_STAGED (LINEAR_ROWS * PADDED(LINEAR_SLICE))
#define LINEAR_RIGHT_STAGED (LINEAR_WIDTH * PADDED(LINEAR_SLICE))
#define LINEAR_STAGED (LINEAR_LEFT_STAGED + LINEAR_RIGHT_STAGED)

#define LINEAR_INPUTS                                                                           \
  LinearShape s, Real scale, Real eps, TENSOR(const Stored, q), TENSOR(const Stored, k),        \
      TENSOR(const Stored, v), TENSOR(const Byte, mask), TENSOR(const Real, counts),            \
      TENSOR(const Real, cos_of), TENSOR(const Real, sin_of), TENSOR(const Real, column),       \
      TENSOR(const Real, gamma)
#define OPEN_LINEAR_INPUTS                                                                      \
  LinearInputs in;                                                                              \
  in.scale = scale;                                                                             \
  in.eps = eps;                                                                                 \
  in.q = q_memory + q_first;                                                                    \
  in.k = k_memory + k_first;                                                                    \
  in.v = v_memory + v_first;                                                                    \
  in.mask = mask_memory + mask_first;                                                           \
  in.counts = counts_memory + counts_first;                                                     \
  in.cosines = cos_of_memory + cos_of_first;                                                    \
  in.sines = sin_of_memory + sin_of_first;                                                      \
  in.column = column_memory + column_first;                                                     \
  in.gamma = gamma_memory + gamma_first

typedef struct {
  Real scale, eps;
  GLOBAL const Stored* q;
  GLOBAL const Stored* k;
  GLOBAL const Stored* v;
  GLOBAL const Byte* mask;
  GLOBAL const Real* counts;   // keys of every item that count, where that is asked and not all do
  GLOBAL const Real* cosines;  // of rotary positions
  GLOBAL const Real* sines;
  GLOBAL const Real* column;  // lambda, or a given beta: (heads, width)
  GLOBAL const Real* gamma;   // given: the same
} LinearInputs;

// The head of an item that a group works on, of all heads of all items `number`; rows from `first` on.
typedef struct {
  Index item, head, number, first;
} LinearBlock;

FUNCTION LinearBlock linear_head(const LinearShape* s, Index number, Index first) {
  LinearBlock block;
  block.item = number / s->heads;
  block.head = number % s->heads;
  block.number = number;
  block.first = first;
  return block;
}
FUNCTION LinearBlock linear_block(const LinearShape* s, Index rows) {
  const Index blocks = (rows + LINEAR_ROWS - 1) / LINEAR_ROWS;
  return linear_head(s, GROUP / blocks, GROUP % blocks * LINEAR_ROWS);
}

// ---- Rows of a head ----

FUNCTION Real exact_feature(Int32 features, Real x) {
  if (features == FeatureEluPlusOne) return x > 0 ? x + 1 : exp(x);
  if (features == FeatureRelu) return x > 0 ? x : (Real)0;
  return features == FeatureExp ? exp(x) : x;
}
// As products see it everywhere, and so in z: by magnitude, f Q S and g u are much larger than their
// difference where z is, and have to agree on the features.
FUNCTION Real linear_feature(Int32 features, Real x) {
  return operand_of(exact_feature(features, x));
}
// From the value; that of a ReLU at 0 is 0.
FUNCTION Real linear_slope(Int32 features, Real value) {
  if (features == FeatureEluPlusOne) return value > 1 ? (Real)1 : value;
  if (features == FeatureRelu) return value > 0 ? (Real)1 : (Real)0;
  return features == FeatureExp ? value : (Real)1;
}

// (count, dim): features of what is stored, with their positions if there are cosines; or, where `wide`
// is there, that. Rows that are masked or not there are 0.
typedef struct {
  GLOBAL const Stored* x;
  GLOBAL const Real* wide;
  GLOBAL const Byte* mask;
  GLOBAL const Real* cosines;
  GLOBAL const Real* sines;
  Index count, token;
  int dim;
  Int32 features;
} LinearRows;

FUNCTION LinearRows linear_rows(GLOBAL const Stored* x, const HeadWalk* walk, const LinearBlock* block,
                                Index count, int dim) {
  LinearRows rows;
  rows.x = x + head_start(walk, block->item, block->head);
  rows.wide = 0;
  rows.mask = 0;
  rows.cosines = 0;
  rows.sines = 0;
  rows.count = count;
  rows.token = walk->token;
  rows.dim = dim;
  rows.features = FeatureNone;
  return rows;
}
FUNCTION void take_features(const LinearShape* s, const LinearInputs* in, LinearRows* rows) {
  rows->features = s->features;
  rows->cosines = in->cosines;
  rows->sines = in->sines;
}
FUNCTION GLOBAL const Byte* mask_of(const LinearShape* s, const LinearInputs* in,
                                    const LinearBlock* block) {
  return in->mask ? in->mask + block->item * s->keys : 0;
}
FUNCTION LinearRows query_rows(const LinearShape* s, const LinearInputs* in,
                               const LinearBlock* block, int map) {
  LinearRows rows = linear_rows(in->q, &s->q[map], block, s->queries, s->dim);
  take_features(s, in, &rows);
  return rows;
}
FUNCTION LinearRows key_rows(const LinearShape* s, const LinearInputs* in, const LinearBlock* block,
                             int map) {
  LinearRows rows = linear_rows(in->k, &s->k[map], block, s->keys, s->dim);
  take_features(s, in, &rows);
  rows.mask = mask_of(s, in, block);
  return rows;
}
FUNCTION LinearRows value_rows(const LinearShape* s, const LinearInputs* in,
                               const LinearBlock* block) {
  LinearRows rows = linear_rows(in->v, &s->v, block, s->keys, s->width);
  rows.mask = mask_of(s, in, block);
  return rows;
}
// Queries that are masked as keys give nothing, where they are the same tokens.
FUNCTION int is_hidden(const LinearShape* s, const LinearInputs* in, const LinearBlock* block,
                       Index query) {
  return in->mask && s->queries == s->keys && query < s->queries &&
         !in->mask[block->item * s->keys + query];
}

// The gradient of the results y: as upstream has it or, where something was made of them, dy.
#define LINEAR_UPSTREAM TENSOR(const Stored, dout), TENSOR(const Real, dy)
#define OPEN_LINEAR_UPSTREAM                                                                   \
  LinearRows upstream = linear_rows(dout_memory + dout_first, &s.out, &block, s.queries, s.width); \
  if (dy_memory)                                                                               \
    upstream.wide = dy_memory + dy_first + head_start(&s.out, block.item, block.head);         \
  if (s.queries == s.keys) upstream.mask = mask_of(&s, &in, &block)

FUNCTION int is_in_rows(const LinearRows* rows, Index row, int channel) {
  return row < rows->count && channel < rows->dim && (!rows->mask || rows->mask[row]);
}
// Without positions.
FUNCTION Real linear_plain(const LinearRows* rows, Index row, int channel) {
  if (!is_in_rows(rows, row, channel)) return 0;
  const Index at = row * rows->token + channel;
  return rows->wide ? rows->wide[at] : linear_feature(rows->features, load(rows->x, at));
}

// A row of a tile as a lane sees it, without positions: its channels count from the lane's first column.
typedef struct {
  GLOBAL const Stored* x;
  int channels, is_there;
  Int32 features;
} LinearLane;

FUNCTION LinearLane linear_lane(const LinearRows* rows, Index row) {
  LinearLane lane;
  lane.x = rows->x + row * rows->token + FIRST_COLUMN;
  lane.is_there = is_in_rows(rows, row, 0);
  lane.channels = lane.is_there ? rows->dim - FIRST_COLUMN : 0;
  lane.features = rows->features;
  return lane;
}
FUNCTION Real lane_value(const LinearLane* lane, int j, int e) {
  const int channel = COLUMNS_AWAY(j, e);
  return channel < lane->channels ? linear_feature(lane->features, load(lane->x, channel)) : (Real)0;
}

// A chunk of a row's channels from `channel` on, zeros behind its end. at_once: of rows_at_once.
FUNCTION int rows_at_once(const LinearRows* rows) {
  return elements_at_once(rows->dim | rows->token,
                          rows->wide ? (size_t)rows->wide : (size_t)rows->x);
}
FUNCTION void plain_chunk(const LinearRows* rows, int at_once, Index row, int channel, Real* x) {
  if (at_once == 1) {
    UNROLLED
    for (int c = 0; c < CHUNK; ++c) x[c] = linear_plain(rows, row, channel + c);
  } else if (!is_in_rows(rows, row, channel)) {
    UNROLLED
    for (int c = 0; c < CHUNK; ++c) x[c] = 0;
  } else if (rows->wide) {
    load_parameters(rows->wide, row * rows->token + channel, CHUNK, x);
  } else {
    load_chunk(rows->x, row * rows->token + channel, CHUNK, x);
    UNROLLED
    for (int c = 0; c < CHUNK; ++c) x[c] = linear_feature(rows->features, x[c]);
  }
}
// Turns its pairs by the angles of the row.
FUNCTION void turn_chunk(const LinearRows* rows, Index row, int channel, Real* x) {
  if (!rows->cosines) return;
  UNROLLED
  for (int c = 0; c < CHUNK; c += 2) {
    if (!is_in_rows(rows, row, channel + c)) continue;
    const Index angle = row * (rows->dim / 2) + (channel + c) / 2;
    const Real a = x[c], b = x[c + 1];
    x[c] = a * rows->cosines[angle] - b * rows->sines[angle];
    x[c + 1] = b * rows->cosines[angle] + a * rows->sines[angle];
  }
}
FUNCTION void stage_chunk(SHARED Stored* to, const Real* x) { *(SHARED Chunk*)to = chunk_of(x); }

// (count, channels) of rows, from a row and a channel on. channels: whole steps.
FUNCTION void stage_rows(SHARED Stored* to, int stride, const LinearRows* rows, Index first,
                         int count, int channel, int channels) {
  const int at_once = rows_at_once(rows);
  ONE_BY_ONE
  for (int row = PLACE / 8; row < count; row += GROUP_SIZE / 8) {
    ONE_BY_ONE
    for (int at = PLACE % 8 * CHUNK; at < channels; at += 8 * CHUNK) {
      Real x[CHUNK];
      plain_chunk(rows, at_once, first + row, channel + at, x);
      turn_chunk(rows, first + row, channel + at, x);
      stage_chunk(to + row * stride + at, x);
    }
  }
}

// The sums of a head, or gradients of them. Causal there are keys and values of every token, with what
// comes before or behind, and `inner`, what tokens of a block have in common: (tokens, LINEAR_ROWS).
typedef struct {
  GLOBAL const Real* products;  // (maps dim, width)
  GLOBAL const Real* keys;      // (maps dim)
  GLOBAL const Real* values;    // (width)
  GLOBAL const Real* inner;
  GLOBAL const Real* stats;
  Index key_step, value_step;  // from token to token
} LinearSums;

#define LINEAR_SUMS                                                                     \
  TENSOR(const Real, products), TENSOR(const Real, key_sums), TENSOR(const Real, value_sums), \
      TENSOR(const Real, inner)
#define OPEN_LINEAR_SUMS(stats)                                                         \
  const LinearSums sums = linear_sums(                                                  \
      &s, &block, products_memory + products_first, key_sums_memory + key_sums_first,   \
      value_sums_memory + value_sums_first, inner_memory + inner_first, stats)

FUNCTION LinearSums linear_sums(const LinearShape* s, const LinearBlock* block,
                                GLOBAL const Real* products, GLOBAL const Real* keys,
                                GLOBAL const Real* values, GLOBAL const Real* inner,
                                GLOBAL const Real* stats) {
  const Index depth = s->maps * s->dim;
  LinearSums sums;
  sums.key_step = s->causal ? depth : 0;
  sums.value_step = s->causal ? s->width : 0;
  const Index tokens = s->causal ? s->keys : 1;
  const Index piece = block->number * s->pieces + block->first / LINEAR_ROWS;
  sums.products = products + (s->causal ? piece * (depth * s->width + depth + s->width)
                                        : block->number * depth * s->width);
  sums.keys = keys + block->number * tokens * depth;
  sums.values = values + block->number * tokens * s->width;
  sums.inner = inner + (block->number * s->keys + block->first) * LINEAR_ROWS;
  sums.stats = stats + block->number * s->queries * LINEAR_STATS;
  return sums;
}

// Parameters of columns, or 1.
FUNCTION Real column_of(const LinearShape* s, const LinearInputs* in, const LinearBlock* block, int map,
                        int channel) {
  if (!in->column || (s->maps == 2 && map == 0)) return 1;
  const Real value = in->column[block->head * s->width + channel];
  return s->maps == 2 ? -value : value;
}
FUNCTION Real level_of(const LinearShape* s, const LinearInputs* in, const LinearBlock* block,
                       const LinearSums* sums, Index row, int channel) {
  const Real value = sums->values[row * sums->value_step + channel];
  return in->gamma ? in->gamma[block->head * s->width + channel] * value : value;
}
