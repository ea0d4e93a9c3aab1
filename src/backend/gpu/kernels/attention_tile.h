// What the kernels of softmax attention share. A group owns a block of ATTENTION_ROWS rows, queries or
// keys of one head, and meets the others in blocks of ATTENTION_OTHERS. Its work items stand in a
// square of LANES x LANES: item (x, y) has rows y + 16 i, and columns or channels x + 16 j. All
// arrays in local memory together stay below 32 KiB of float64.

#define ROWS ATTENTION_ROWS
#define OTHERS ATTENTION_OTHERS
#define LANES 16
#define EACH_ROW (ROWS / LANES)
#define EACH_OTHER (OTHERS / LANES)
#define EACH_CHANNEL (ATTENTION_WIDTH / LANES)
#define SLICE 16  // channels of a product that are staged at a time
#define LEFT (ROWS + 1)
#define RIGHT (OTHERS + 1)
#define STAGED (SLICE * (LEFT + RIGHT))
#define LANE_X (PLACE % LANES)
#define LANE_Y (PLACE / LANES)

// In place of the number of a token.
#define PADDING (-1)  // has the padding's channels
#define NOBODY (-2)   // is not there, or nobody may attend to it

#define ATTENTION_INPUTS                                                                        \
  AttentionShape s, Real scale, Real region_mask, TENSOR(const Stored, q),                      \
      TENSOR(const Stored, k), TENSOR(const Stored, v), TENSOR(const Byte, mask),               \
      TENSOR(const Index, table), TENSOR(const Index, regions), TENSOR(const Real, bias),       \
      TENSOR(const Stored, padding), TENSOR(const Stored, c1), TENSOR(const Stored, c2)
#define OPEN_ATTENTION_INPUTS                                                                   \
  OPEN(const Stored, q);                                                                        \
  OPEN(const Stored, k);                                                                        \
  OPEN(const Stored, v);                                                                        \
  Lookups look;                                                                                 \
  look.scale = scale;                                                                           \
  look.region_mask = region_mask;                                                               \
  look.mask = mask_memory + mask_first;                                                         \
  look.table = table_memory + table_first;                                                      \
  look.regions = regions_memory + regions_first;                                                \
  look.bias = bias_memory + bias_first;                                                         \
  look.padding = padding_memory + padding_first;                                                \
  look.c[0] = c1_memory + c1_first;                                                             \
  look.c[1] = c2_memory + c2_first

typedef struct {
  Real scale, region_mask;
  GLOBAL const Byte* mask;
  GLOBAL const Index* table;
  GLOBAL const Index* regions;
  GLOBAL const Real* bias;
  GLOBAL const Stored* padding;
  GLOBAL const Stored* c[2];
} Lookups;

// What a group works on; `first` is the first row that it owns.
typedef struct {
  Index item, unit, head, first;
} RowBlock;

FUNCTION RowBlock block_of(const AttentionShape* s, Index rows) {
  const Index blocks = (rows + ROWS - 1) / ROWS;
  const Index of = GROUP / blocks;
  RowBlock block;
  block.first = GROUP % blocks * ROWS;
  block.unit = of % s->units;
  block.head = s->first_head + of / s->units % s->count * s->head_step;
  block.item = of / (s->units * s->count);
  return block;
}

// One head of one item; nothing at padding if that is 0.
typedef struct {
  GLOBAL const Stored* x;
  GLOBAL const Stored* padding;
  Index token;
  int dim;
} Head;

FUNCTION Index start_of(const HeadWalk* walk, Index head) {
  return walk->first + head / walk->per * walk->outer + head % walk->per * walk->inner;
}
FUNCTION Index head_start(const HeadWalk* walk, const RowBlock* block) {
  return block->item * walk->item + start_of(walk, block->head);
}
FUNCTION Head head_of(GLOBAL const Stored* x, const HeadWalk* walk, const RowBlock* block, int dim) {
  Head head;
  head.x = x + head_start(walk, block);
  head.padding = 0;
  head.token = walk->token;
  head.dim = dim;
  return head;
}
FUNCTION Head padded_head(GLOBAL const Stored* x, const HeadWalk* walk, const RowBlock* block, int dim,
                          GLOBAL const Stored* padding) {
  Head head = head_of(x, walk, block, dim);
  if (padding) head.padding = padding + start_of(walk, block->head);
  return head;
}
// Of what is laid out as the result, (batch, tokens, heads * width).
FUNCTION HeadWalk walk_of_out(const AttentionShape* s) {
  HeadWalk walk;
  walk.token = s->heads * s->width;
  walk.item = s->tokens * walk.token;
  walk.first = 0;
  walk.per = 1;
  walk.outer = s->width;
  walk.inner = 0;
  return walk;
}
FUNCTION Real element(const Head* head, int token, int channel) {
  if (channel >= head->dim || token <= NOBODY) return 0;
  if (token == PADDING) return head->padding ? load(head->padding, channel) : (Real)0;
  return load(head->x, token * head->token + channel);
}

// Tokens of rows; a query at padding gives nothing, and nothing is made for it.
FUNCTION int token_of(const Lookups* look, Index unit, Index row, Index rows) {
  if (row >= rows) return NOBODY;
  if (!look->table) return (int)row;
  const Index token = look->table[unit * rows + row];
  return token < 0 ? PADDING : (int)token;
}
FUNCTION int query_token(const AttentionShape* s, const Lookups* look, const RowBlock* block,
                         Index row) {
  const int token = token_of(look, block->unit, row, s->queries);
  return token == PADDING ? NOBODY : token;
}
FUNCTION int key_token(const AttentionShape* s, const Lookups* look, const RowBlock* block,
                       Index row) {
  const int token = token_of(look, block->unit, row, s->keys);
  if (token == PADDING && !s->padding_attends) return NOBODY;
  if (token != NOBODY && look->mask && !look->mask[block->item * s->keys + row]) return NOBODY;
  return token;
}

// Keys that rows before `end` see where no mask forbids them.
FUNCTION Index keys_before(const AttentionShape* s, Index end) {
  if (!s->causal) return s->keys;
  const Index seen = (end < s->queries ? end : s->queries) + s->keys - s->queries;
  return seen < 0 ? 0 : seen;
}
FUNCTION int is_allowed(const AttentionShape* s, Index query, int query_is, Index key, int key_is) {
  return query_is > NOBODY && key_is > NOBODY &&
         (!s->causal || key <= query + s->keys - s->queries);
}
FUNCTION Real score_of(const AttentionShape* s, const Lookups* look, const RowBlock* block,
                       Index query, Index key, Real product) {
  Real score = product * look->scale;
  if (look->bias) score += look->bias[(block->head * s->queries + query) * s->keys + key];
  if (look->regions && look->regions[block->unit * s->keys + query] !=
                           look->regions[block->unit * s->keys + key])
    score += look->region_mask;
  return score;
}
// Of a row in (maps, batch, heads, units, queries).
FUNCTION Index lse_row(const AttentionShape* s, int map, const RowBlock* block, Index query) {
  const Index of = ((Index)map * s->batch + block->item) * s->heads + block->head;
  return (of * s->units + block->unit) * s->queries + query;
}
// What multiplies a row of a map.
FUNCTION Real coefficient(const AttentionShape* s, const Lookups* look, const RowBlock* block, int map,
                          Index query) {
  if (!look->c[map]) return 1;
  return load(look->c[map], (block->item * s->queries + query) * s->heads + block->head);
}

// sum[i][j] = row y + 16 i of what is owned times row x + 16 j of what is met.
FUNCTION void products(SHARED Real* staged, const Head* own, SHARED const Int32* own_tokens,
                       const Head* met, SHARED const Int32* met_tokens,
                       Real (*sum)[EACH_OTHER]) {
  SHARED Real* left = staged;
  SHARED Real* right = staged + SLICE * LEFT;
  for (int i = 0; i < EACH_ROW; ++i)
    for (int j = 0; j < EACH_OTHER; ++j) sum[i][j] = 0;
  for (int channel = 0; channel < own->dim; channel += SLICE) {
    for (int e = PLACE; e < SLICE * ROWS; e += GROUP_SIZE)
      left[e % SLICE * LEFT + e / SLICE] =
          element(own, own_tokens[e / SLICE], channel + e % SLICE);
    for (int e = PLACE; e < SLICE * OTHERS; e += GROUP_SIZE)
      right[e % SLICE * RIGHT + e / SLICE] =
          element(met, met_tokens[e / SLICE], channel + e % SLICE);
    SYNCHRONIZE;
    for (int c = 0; c < SLICE; ++c) {
      Real u[EACH_ROW], w[EACH_OTHER];
      for (int i = 0; i < EACH_ROW; ++i) u[i] = left[c * LEFT + LANE_Y + i * LANES];
      for (int j = 0; j < EACH_OTHER; ++j) w[j] = right[c * RIGHT + LANE_X + j * LANES];
      for (int i = 0; i < EACH_ROW; ++i)
        for (int j = 0; j < EACH_OTHER; ++j) sum[i][j] += u[i] * w[j];
    }
    SYNCHRONIZE;
  }
}

// sum[i][j] += row y + 16 i of the map, (OTHERS, LEFT), times channel x + 16 j of what is met.
FUNCTION void add_products(SHARED Real* staged, SHARED const Real* map, const Head* met,
                           SHARED const Int32* met_tokens, Real (*sum)[EACH_CHANNEL]) {
  const int shift = met->dim <= 32 ? 5 : met->dim <= 64 ? 6 : 7;
  const int rows = 1024 >> shift;  // staged at a time
  for (int first = 0; first < OTHERS; first += rows) {
    for (int e = PLACE; e < 1024; e += GROUP_SIZE)
      staged[e] = element(met, met_tokens[first + (e >> shift)], e & ((1 << shift) - 1));
    SYNCHRONIZE;
    for (int r = 0; r < rows; ++r) {
      Real p[EACH_ROW];
      for (int i = 0; i < EACH_ROW; ++i) p[i] = map[(first + r) * LEFT + LANE_Y + i * LANES];
      for (int j = 0; j < EACH_CHANNEL; ++j) {
        if (j * LANES >= 1 << shift) continue;
        const Real w = staged[(r << shift) + LANE_X + j * LANES];
        for (int i = 0; i < EACH_ROW; ++i) sum[i][j] += p[i] * w;
      }
    }
    SYNCHRONIZE;
  }
}

FUNCTION void clear_channels(Real (*sum)[EACH_CHANNEL]) {
  for (int i = 0; i < EACH_ROW; ++i)
    for (int j = 0; j < EACH_CHANNEL; ++j) sum[i][j] = 0;
}

// To, or added to, the tokens' rows of a head; `dim` channels of it.
FUNCTION void put_sums(Real (*sum)[EACH_CHANNEL], Real factor, int add, GLOBAL Stored* y,
                       const HeadWalk* walk, const RowBlock* block, int dim, const int* tokens) {
  const Index start = head_start(walk, block);
  for (int i = 0; i < EACH_ROW; ++i) {
    for (int j = 0; j < EACH_CHANNEL; ++j) {
      const int channel = LANE_X + j * LANES;
      if (tokens[i] < 0 || channel >= dim) continue;
      const Index at = start + tokens[i] * walk->token + channel;
      const Real value = sum[i][j] * factor;
      store(y, at, add ? load(y, at) + value : value);
    }
  }
}
