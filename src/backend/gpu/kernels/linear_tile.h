// What the kernels of linear attention share. With f and g of every query (linear_weights),
//   y = f (Q S) - g u,   S = K^T v,   u = the sum of the rows of v,   z = c Q . s,
// of two maps the sum over both; columns of S and u may have parameters. A ratio has f = 1 / (z + eps)
// and no g. mala 3.2, gdla 2.3. Causal (mala 3.4), S is that before a block of LINEAR_ROWS tokens, s
// and u are those up to each token, and inside the block every query meets the keys up to its own.
//
// A group has such a block of one head. Its work items stand in a square of 16 x 16: item (x, y) has
// rows y + 16 i, and channels in pairs, 2 x and 2 x + 1 of every 32, so that a pair that rotary
// positions turn is in one hand. Matrices pass through local memory 16 channels at a time. Loops with
// barriers run at least once, and none stands under a condition: PoCL would copy all that follows.

#define LINEAR_STEP 16
#define LINEAR_EACH_ROW (LINEAR_ROWS / 16)
#define LINEAR_EACH (LINEAR_WIDTH / 16)
#define LINEAR_LEFT (LINEAR_ROWS + 1)
#define LINEAR_RIGHT (LINEAR_WIDTH + 17)
#define LINEAR_STAGED (LINEAR_STEP * (LINEAR_LEFT + LINEAR_RIGHT))
#define ACROSS (PLACE % 16)
#define DOWN (PLACE / 16)
#define OWN_ROW(i) (DOWN + (i)*16)
#define PAIRED(j) ((j) / 2 * 32 + ACROSS * 2 + (j) % 2)
#define WHOLE_PAIRS(n) (((n) + 31) / 32 * 32)
#define WHOLE_STEPS(n) (((n) + LINEAR_STEP - 1) / LINEAR_STEP * LINEAR_STEP)

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

FUNCTION Real linear_feature(Int32 features, Real x) {
  if (features == FeatureEluPlusOne) return x > 0 ? x + 1 : exp(x);
  if (features == FeatureRelu) return x > 0 ? x : (Real)0;
  return features == FeatureExp ? exp(x) : x;
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
FUNCTION LinearRows without_positions(LinearRows rows) {
  rows.cosines = 0;
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

FUNCTION Real linear_plain(const LinearRows* rows, Index row, int channel) {
  if (row >= rows->count || channel >= rows->dim || (rows->mask && !rows->mask[row])) return 0;
  const Index at = row * rows->token + channel;
  return rows->wide ? rows->wide[at] : linear_feature(rows->features, load(rows->x, at));
}
FUNCTION Real linear_element(const LinearRows* rows, Index row, int channel) {
  const Real x = linear_plain(rows, row, channel);
  if (!rows->cosines || row >= rows->count || channel >= rows->dim) return x;
  const Real other = linear_plain(rows, row, channel ^ 1);
  const Index angle = row * (rows->dim / 2) + channel / 2;
  return x * rows->cosines[angle] + (channel % 2 ? other : -other) * rows->sines[angle];
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

// ---- Products of the block's rows ----

FUNCTION void clear_rows(Real (*sum)[LINEAR_EACH]) {
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i)
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j) sum[i][j] = 0;
}

// The values of each row's 16 work items added up, known to all of them. `shared`: LINEAR_STAGED.
FUNCTION void add_across(SHARED Real* shared, Real* values) {
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) shared[OWN_ROW(i) * 17 + ACROSS] = values[i];
  SYNCHRONIZE;
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    Real sum = 0;
    for (int x = 0; x < 16; ++x) sum += shared[OWN_ROW(i) * 17 + x];
    values[i] = sum;
  }
  SYNCHRONIZE;  // before the places are used again
}

// sum += left^T right, of LINEAR_STEP rows of each; `channels` of the sum are there.
FUNCTION void add_step_of(SHARED const Real* left, SHARED const Real* right, int channels,
                          Real (*sum)[LINEAR_EACH]) {
  for (int c = 0; c < LINEAR_STEP; ++c) {
    Real u[LINEAR_EACH_ROW];
    UNROLLED
    for (int i = 0; i < LINEAR_EACH_ROW; ++i) u[i] = left[c * LINEAR_LEFT + OWN_ROW(i)];
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j) {
      if (j / 2 * 32 >= channels) continue;
      const Real w = right[c * LINEAR_RIGHT + PAIRED(j)];
      UNROLLED
      for (int i = 0; i < LINEAR_EACH_ROW; ++i) sum[i][j] += u[i] * w;
    }
  }
}

// Causal, the last steps of a product: what the block's rows have in common with those it meets, times
// these. `back`: own rows are keys, and each query has its factor.
FUNCTION void stage_met(const LinearShape* s, const LinearBlock* block, const LinearSums* sums,
                        int back, const Real* factors, const LinearRows* met, int first,
                        SHARED Real* staged) {
  SHARED Real* right = staged + LINEAR_STEP * LINEAR_LEFT;
  const int other = first + ACROSS;
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    const int query = back ? other : OWN_ROW(i);
    const int key = back ? OWN_ROW(i) : other;
    Real weight = 0;
    if (block->first + query < s->queries) {
      const Index row = block->first + query;
      weight = sums->inner[query * LINEAR_ROWS + key] *
               (back ? sums->stats[row * LINEAR_STATS] : factors[i]);
    }
    staged[ACROSS * LINEAR_LEFT + OWN_ROW(i)] = weight;
  }
  ONE_BY_ONE
  for (int c = ACROSS; c < WHOLE_PAIRS(met->dim); c += 16)
    right[DOWN * LINEAR_RIGHT + c] = linear_element(met, block->first + first + DOWN, c);
}

// sum += the rows, each times its factor, times M, the sums of a map with their columns; causal also
// what they have in common with the rows met times these.
FUNCTION void add_by_sums(const LinearShape* s, const LinearInputs* in, const LinearBlock* block,
                          int map, const LinearSums* sums, int back, const LinearRows* rows,
                          const LinearRows* met, const Real* factors, SHARED Real* staged,
                          Real (*sum)[LINEAR_EACH]) {
  GLOBAL const Real* m = sums->products + map * s->dim * s->width;
  SHARED Real* right = staged + LINEAR_STEP * LINEAR_LEFT;
  const int steps = WHOLE_STEPS(s->dim);
  int first = 0;
  do {
    if (first < steps) {
      UNROLLED
      for (int i = 0; i < LINEAR_EACH_ROW; ++i)
        staged[ACROSS * LINEAR_LEFT + OWN_ROW(i)] =
            factors[i] * linear_element(rows, block->first + OWN_ROW(i), first + ACROSS);
      ONE_BY_ONE
      for (int w = ACROSS; w < WHOLE_PAIRS(s->width); w += 16)
        right[DOWN * LINEAR_RIGHT + w] = first + DOWN < s->dim && w < s->width
                                             ? m[(first + DOWN) * s->width + w] *
                                                   column_of(s, in, block, map, w)
                                             : (Real)0;
    } else {
      stage_met(s, block, sums, back, factors, met, first - steps, staged);
    }
    SYNCHRONIZE;
    add_step_of(staged, right, s->width, sum);
    SYNCHRONIZE;
    first += LINEAR_STEP;
  } while (first < steps + (s->causal ? LINEAR_ROWS : 0));
}

// sum += the rows times M^T; causal the same.
FUNCTION void add_back_by_sums(const LinearShape* s, const LinearInputs* in,
                               const LinearBlock* block, int map, const LinearSums* sums, int back,
                               const LinearRows* rows, const LinearRows* met, SHARED Real* staged,
                               Real (*sum)[LINEAR_EACH]) {
  GLOBAL const Real* m = sums->products + map * s->dim * s->width;
  SHARED Real* right = staged + LINEAR_STEP * LINEAR_LEFT;
  const int steps = WHOLE_STEPS(s->width);
  Real ones[LINEAR_EACH_ROW];
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) ones[i] = 1;
  int first = 0;
  do {
    if (first < steps) {
      const int w = first + ACROSS;
      const Real by = w < s->width ? column_of(s, in, block, map, w) : (Real)0;
      UNROLLED
      for (int i = 0; i < LINEAR_EACH_ROW; ++i)
        staged[ACROSS * LINEAR_LEFT + OWN_ROW(i)] =
            linear_element(rows, block->first + OWN_ROW(i), w);
      ONE_BY_ONE
      for (int c = DOWN; c < WHOLE_PAIRS(s->dim); c += 16)
        right[ACROSS * LINEAR_RIGHT + c] =
            c < s->dim && w < s->width ? m[c * s->width + w] * by : (Real)0;
    } else {
      stage_met(s, block, sums, back, ones, met, first - steps, staged);
    }
    SYNCHRONIZE;
    add_step_of(staged, right, s->dim, sum);
    SYNCHRONIZE;
    first += LINEAR_STEP;
  } while (first < steps + (s->causal ? LINEAR_ROWS : 0));
}

// To, or added to, rows of a head in a gradient.
FUNCTION void put_rows(Real (*sum)[LINEAR_EACH], int add, GLOBAL Stored* y, const HeadWalk* walk,
                       const LinearBlock* block, Index count, int dim) {
  const Index start = head_start(walk, block->item, block->head);
  UNROLLED
  for (int i = 0; i < LINEAR_EACH_ROW; ++i) {
    const Index row = block->first + OWN_ROW(i);
    UNROLLED
    for (int j = 0; j < LINEAR_EACH; ++j) {
      if (row >= count || PAIRED(j) >= dim) continue;
      const Index at = start + row * walk->token + PAIRED(j);
      store(y, at, add ? load(y, at) + sum[i][j] : sum[i][j]);
    }
  }
}
