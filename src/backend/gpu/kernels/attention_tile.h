// What the kernels of softmax attention share. A group owns a block of ATTENTION_ROWS rows, queries or
// keys of one head, and meets the others in blocks of ATTENTION_OTHERS. Two kinds of products follow
// each other (warp_tile.h): of the channels of both, SLICE of them staged at a time, whose sums are a
// map (ROWS, OTHERS); and of that map with all channels of what is met, DEEP tokens staged at a time.
// All arrays in local memory together stay below 48 KiB, of whatever dtype.

#define ROWS ATTENTION_ROWS
#define OTHERS ATTENTION_OTHERS
#define MAP_SQUARES (OTHERS / SQUARE_STEP)
#define HEAD_SQUARES (ATTENTION_WIDTH / SQUARE_STEP)
#define SLICE (sizeof(Stored) == 2 ? ATTENTION_WIDTH : 8 * CHUNK)
#define DEEP (sizeof(Stored) == 8 ? 8 : OTHERS)
#define OWN_STRIDE PADDED(SLICE)
#define MET_STRIDE PADDED(DEEP < OTHERS ? SLICE : ATTENTION_WIDTH)
#define DEEP_STRIDE PADDED(ATTENTION_WIDTH)
#define MAP_STRIDE PADDED(OTHERS)
#define OWN_STAGED (ROWS * OWN_STRIDE)
#define MET_STAGED (DEEP * DEEP_STRIDE)
#define MAP_STAGED (ROWS * MAP_STRIDE)

// In place of the number of a token.
#define PADDING (-1)  // has the padding's channels
#define NOBODY (-2)   // is not there, or nobody may attend to it

#define ATTENTION_INPUTS                                                                        \
  AttentionShape s, Real scale, Real region_mask, TENSOR(const Stored, q),                      \
      TENSOR(const Stored, k), TENSOR(const Stored, v), TENSOR(const Byte, mask),               \
      TENSOR(const Index, table), TENSOR(const Index, regions), TENSOR(const Real, bias),       \
      TENSOR(const Stored, padding), TENSOR(const Stored, c1), TENSOR(const Stored, c2)
#define OPEN_ATTENTION_INPUTS                                                                   \
  Inputs in;                                                                                    \
  in.scale = scale;                                                                             \
  in.region_mask = region_mask;                                                                 \
  in.q = q_memory + q_first;                                                                    \
  in.k = k_memory + k_first;                                                                    \
  in.v = v_memory + v_first;                                                                    \
  in.mask = mask_memory + mask_first;                                                           \
  in.table = table_memory + table_first;                                                        \
  in.regions = regions_memory + regions_first;                                                  \
  in.bias = bias_memory + bias_first;                                                           \
  in.padding = padding_memory + padding_first;                                                  \
  in.c1 = c1_memory + c1_first;                                                                 \
  in.c2 = c2_memory + c2_first

typedef struct {
  Real scale, region_mask;
  GLOBAL const Stored* q;
  GLOBAL const Stored* k;
  GLOBAL const Stored* v;
  GLOBAL const Byte* mask;
  GLOBAL const Index* table;
  GLOBAL const Index* regions;
  GLOBAL const Real* bias;
  GLOBAL const Stored* padding;
  GLOBAL const Stored* c1;
  GLOBAL const Stored* c2;
} Inputs;

// What a group works on; `first` is the first row that it owns.
typedef struct {
  int item, unit, head, first;
} RowBlock;

FUNCTION RowBlock block_of(const AttentionShape* s, Index rows) {
  const Index blocks = (rows + ROWS - 1) / ROWS;
  const Index of = GROUP / blocks;
  RowBlock block;
  block.first = (int)(GROUP % blocks) * ROWS;
  block.unit = (int)(of % s->units);
  block.head = (int)(s->first_head + of / s->units % s->count * s->head_step);
  block.item = (int)(of / (s->units * s->count));
  return block;
}

// One head of one item; nothing at padding if that is 0.
typedef struct {
  GLOBAL const Stored* x;
  GLOBAL const Stored* padding;
  int token, dim;
  int in_chunks;  // whether all channels begin and end with chunks of memory
} Head;

FUNCTION int is_in_chunks(GLOBAL const Stored* x) { return (size_t)x % 16 == 0; }
FUNCTION Head head_of(GLOBAL const Stored* x, const HeadWalk* walk, const RowBlock* block, int dim,
                      GLOBAL const Stored* padding) {
  Head head;
  head.x = x + head_start(walk, block->item, block->head);
  head.padding = padding ? padding + start_of(walk, block->head) : 0;
  head.token = (int)walk->token;
  head.dim = dim;
  head.in_chunks = dim % CHUNK == 0 && walk->token % CHUNK == 0 && is_in_chunks(head.x) &&
                   is_in_chunks(head.padding);
  return head;
}
FUNCTION Head query_head(const AttentionShape* s, const Inputs* in, const RowBlock* block, int map) {
  return head_of(in->q, &s->q[map], block, s->dim, 0);
}
FUNCTION Head key_head(const AttentionShape* s, const Inputs* in, const RowBlock* block, int map) {
  return head_of(in->k, &s->k[map], block, s->dim, in->padding);
}
FUNCTION Head value_head(const AttentionShape* s, const Inputs* in, const RowBlock* block) {
  return head_of(in->v, &s->v, block, s->width, in->padding);
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
// Channels of a token, at least one chunk of them; 0 if there are none.
FUNCTION GLOBAL const Stored* channels_of(const Head* head, int token, int channel) {
  if (channel >= head->dim || token <= NOBODY) return 0;
  if (token == PADDING) return head->padding ? head->padding + channel : 0;
  return head->x + (Index)token * head->token + channel;
}

// Tokens of rows; a query at padding gives nothing, and nothing is made for it.
FUNCTION int token_of(const Inputs* in, Index unit, Index row, Index rows) {
  if (row >= rows) return NOBODY;
  if (!in->table) return (int)row;
  const Index token = in->table[unit * rows + row];
  return token < 0 ? PADDING : (int)token;
}
FUNCTION int query_token(const AttentionShape* s, const Inputs* in, const RowBlock* block,
                         Index row) {
  const int token = token_of(in, block->unit, row, s->queries);
  return token == PADDING ? NOBODY : token;
}
FUNCTION int key_token(const AttentionShape* s, const Inputs* in, const RowBlock* block,
                       Index row) {
  const int token = token_of(in, block->unit, row, s->keys);
  if (token == PADDING && !s->padding_attends) return NOBODY;
  if (token != NOBODY && in->mask && !in->mask[block->item * s->keys + row]) return NOBODY;
  return token;
}

// Keys that rows before `end` see where no mask forbids them.
FUNCTION int keys_before(const AttentionShape* s, int end) {
  if (!s->causal) return (int)s->keys;
  const int queries = (int)s->queries;
  const int seen = (end < queries ? end : queries) + (int)s->keys - queries;
  return seen < 0 ? 0 : seen;
}
FUNCTION int is_allowed(const AttentionShape* s, int query, int query_is, int key, int key_is) {
  return query_is > NOBODY && key_is > NOBODY &&
         (!s->causal || key <= query + (int)s->keys - (int)s->queries);
}
FUNCTION Real score_of(const AttentionShape* s, const Inputs* in, const RowBlock* block,
                       int query, int key, Real product) {
  Real score = product * in->scale;
  if (in->bias) score += in->bias[(block->head * s->queries + query) * s->keys + key];
  if (in->regions && in->regions[block->unit * s->keys + query] !=
                           in->regions[block->unit * s->keys + key])
    score += in->region_mask;
  return score;
}
// Of a row in (maps, batch, heads, units, queries).
FUNCTION Index lse_row(const AttentionShape* s, int map, const RowBlock* block, int query) {
  const Index of = ((Index)map * s->batch + block->item) * s->heads + block->head;
  return (of * s->units + block->unit) * s->queries + query;
}
// Of a row in (batch, queries, heads).
FUNCTION Index coefficient_row(const AttentionShape* s, const RowBlock* block, int query) {
  return (block->item * s->queries + query) * s->heads + block->head;
}
// What multiplies a row of a map.
FUNCTION Real coefficient(const AttentionShape* s, const Inputs* in, const RowBlock* block, int map,
                          int query) {
  GLOBAL const Stored* c = map == 0 ? in->c1 : in->c2;
  if (!c) return 1;
  return load(c, coefficient_row(s, block, query));
}

// Channels [channel, channel + channels) of `rows` tokens, zeros in place of those that are not there.
// channels: whole steps. Eight work items share a row.
FUNCTION void stage(SHARED Stored* to, int stride, const Head* head, SHARED const Int32* tokens,
                    int rows, int channel, int channels) {
  for (int row = PLACE / 8; row < rows; row += GROUP_SIZE / 8) {
    for (int at = PLACE % 8 * CHUNK; at < channels; at += 8 * CHUNK) {
      SHARED Stored* place = to + row * stride + at;
      if (head->in_chunks) {
        GLOBAL const Stored* from = channels_of(head, tokens[row], channel + at);
        uint4 chunk;
        chunk.x = chunk.y = chunk.z = chunk.w = 0;
        if (from) chunk = *(GLOBAL const uint4*)from;
        *(SHARED uint4*)place = chunk;
      } else {
        for (int c = 0; c < CHUNK; ++c) {
          GLOBAL const Stored* from = channels_of(head, tokens[row], channel + at + c);
          place[c] = from ? *from : (Stored)0;
        }
      }
    }
  }
}

// Heads have more channels than a slice only where SLICE is less than ATTENTION_WIDTH.
#define IN_SLICES(dim) (SLICE < ATTENTION_WIDTH && (dim) > SLICE)

// What is owned, once, if it fits.
FUNCTION void stage_own(SHARED Stored* own_staged, const Head* own, SHARED const Int32* own_tokens) {
  if (!IN_SLICES(own->dim))
    stage(own_staged, OWN_STRIDE, own, own_tokens, ROWS, 0, whole_steps(own->dim));
}

// sums = rows of what is owned (stage_own) times rows of what is met, (ROWS, OTHERS). Synchronises first.
// (Barriers stand under no condition: PoCL would copy what follows them.)
FUNCTION void multiply_heads(SHARED Stored* own_staged, const Head* own,
                             SHARED const Int32* own_tokens, SHARED Stored* met_staged,
                             const Head* met, SHARED const Int32* met_tokens,
                             Real (*sums)[SQUARE_SUMS]) {
  clear_squares(MAP_SQUARES, sums);
  for (int channel = 0; channel < (SLICE < ATTENTION_WIDTH ? own->dim : 1); channel += SLICE) {
    const int depth = whole_steps(fewer(own->dim - channel, SLICE));
    SYNCHRONIZE;
    if (IN_SLICES(own->dim)) stage(own_staged, OWN_STRIDE, own, own_tokens, ROWS, channel, depth);
    stage(met_staged, MET_STRIDE, met, met_tokens, OTHERS, channel, depth);
    SYNCHRONIZE;
    add_product_of_rows(own_staged, OWN_STRIDE, met_staged, MET_STRIDE, depth, OTHERS, MAP_SQUARES,
                        sums);
  }
}

// A lane's sums as elements of the map.
FUNCTION void put_map(SHARED Stored* map, Real (*sums)[SQUARE_SUMS]) {
  for (int j = 0; j < MAP_SQUARES; ++j)
    for (int e = 0; e < SQUARE_SUMS; ++e)
      map[TILE_ROW(e) * MAP_STRIDE + TILE_COLUMN(j, e)] = stored_of(sums[j][e]);
}

// Whether what multiply_heads met last is there for add_map_product, too.
#define STAYS(dim) (DEEP == OTHERS && !IN_SLICES(dim))

// sums += the map times what is met, (ROWS, channels). Synchronises first.
FUNCTION void add_map_product(SHARED const Stored* map, SHARED Stored* met_staged, const Head* met,
                              SHARED const Int32* met_tokens, int is_staged,
                              Real (*sums)[SQUARE_SUMS]) {
  const int channels = whole_steps(met->dim);
  for (int first = 0; first < OTHERS; first += DEEP) {
    SYNCHRONIZE;
    if (!is_staged) stage(met_staged, DEEP_STRIDE, met, met_tokens + first, DEEP, 0, channels);
    SYNCHRONIZE;
    add_product_of_columns(map + first, MAP_STRIDE, met_staged, DEEP_STRIDE, DEEP, channels,
                           HEAD_SQUARES, sums);
  }
}

// To, or added to, the tokens' rows of a head; `dim` channels of it.
FUNCTION void put_sums(Real (*sums)[SQUARE_SUMS], Real factor, int add, GLOBAL Stored* y,
                       const HeadWalk* walk, const RowBlock* block, int dim, const int* tokens) {
  put_rows(HEAD_SQUARES, sums, factor, add, y + head_start(walk, block->item, block->head),
           walk->token, dim, tokens);
}
