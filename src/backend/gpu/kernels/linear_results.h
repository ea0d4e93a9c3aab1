// Results of linear attention, and what is made of them, for the kernels forward and backward.

// ---- Weights of queries ----

FUNCTION Real keys_seen(const LinearShape* s, const LinearInputs* in, const LinearBlock* block,
                        Index query) {
  if (s->causal) return (Real)(query + 1);
  return in->counts ? in->counts[block->item] : (Real)s->keys;
}
// c where there are so many keys; of a ratio 1.
FUNCTION Real similarity_scale(const LinearShape* s, const LinearInputs* in, Real keys) {
  return s->over_keys ? in->scale / keys : in->scale;
}

// Of the two rows of a lane, from what linear_weights leaves.
FUNCTION void read_stats(const LinearShape* s, const LinearSums* sums, const LinearBlock* block,
                         int which, Real* values) {
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const Index row = block->first + TILE_ROW(2 * i);
    values[i] = row < s->queries ? sums->stats[row * LINEAR_STATS + which] : (Real)0;
  }
}

// y of the rows of a block; of masked queries 0.
FUNCTION void linear_results(const LinearShape* s, const LinearInputs* in, const LinearBlock* block,
                             const LinearSums* sums, SHARED Stored* staged,
                             Real (*y)[SQUARE_SUMS]) {
  Real level[2];
  const LinearRows values = value_rows(s, in, block);
  clear_squares(LINEAR_SQUARES, y);
  int map = 0;
  ONE_BY_ONE
  do {
    const LinearRows queries = query_rows(s, in, block, map);
    Real f[2], sum[LINEAR_SQUARES][SQUARE_SUMS];
    clear_squares(LINEAR_SQUARES, sum);
    add_by_sums(s, in, block, map, sums, 0, 0, &queries, &values, staged, sum);
    read_stats(s, sums, block, map, f);
    UNROLLED
    for (int j = 0; j < LINEAR_SQUARES; ++j)
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e) y[j][e] += f[IS_LOWER(e)] * sum[j][e];
    ++map;
  } while (map < s->maps);
  read_stats(s, sums, block, 2, level);
  UNROLLED
  for (int i = 0; i < 2; ++i) {
    const Index row = block->first + TILE_ROW(2 * i);
    const int hidden = is_hidden(s, in, block, row);
    UNROLLED
    for (int j = 0; j < LINEAR_SQUARES; ++j) {
      UNROLLED
      for (int e = 0; e < SQUARE_SUMS; ++e) {
        const int w = TILE_COLUMN(j, e);
        if (IS_LOWER(e) != i) continue;
        if (s->by_magnitude && row < s->queries && w < s->width)
          y[j][e] += level[i] * level_of(s, in, block, sums, row, w);
        if (hidden) y[j][e] = 0;
      }
    }
  }
}

// ---- What is made of them: (y / rms(y) weight + residual) act(gate) ----

#define LINEAR_FINISH                                                                           \
  Real norm_eps, TENSOR(const Real, weight), TENSOR(const Stored, residual),                    \
      TENSOR(const Stored, gate)
#define OPEN_LINEAR_FINISH                                                                      \
  LinearFinish finish;                                                                          \
  finish.norm_eps = norm_eps;                                                                   \
  finish.weight = weight_memory + weight_first;                                                 \
  finish.residual = residual_memory ? residual_memory + residual_first +                        \
                                          head_start(&s.residual, block.item, block.head)       \
                                    : 0;                                                        \
  finish.gate =                                                                                 \
      gate_memory ? gate_memory + gate_first + head_start(&s.gate, block.item, block.head) : 0

// Of the head of a block; any of the three may be 0.
typedef struct {
  Real norm_eps;
  GLOBAL const Real* weight;
  GLOBAL const Stored* residual;
  GLOBAL const Stored* gate;
} LinearFinish;

FUNCTION Real gate_sigmoid(Real x) {
  const Real e = exp(-fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
FUNCTION Real gate_value(Int32 op, Real x) {
  if (op == UnaryAffine) return x;
  return op == UnarySilu ? x * gate_sigmoid(x) : gate_sigmoid(x);
}
FUNCTION Real gate_slope(Int32 op, Real x) {
  if (op == UnaryAffine) return 1;
  const Real y = gate_sigmoid(x);
  return op == UnarySilu ? y * (1 + x * (1 - y)) : y * (1 - y);
}

// One over the root of the mean square of each row, or 1 without a norm.
FUNCTION void inverse_rms(const LinearShape* s, const LinearFinish* finish, SHARED Real* part,
                          Real (*y)[SQUARE_SUMS], Real* rstd) {
  Real squares[2] = {0, 0};
  UNROLLED
  for (int j = 0; j < LINEAR_SQUARES; ++j)
    UNROLLED
    for (int e = 0; e < SQUARE_SUMS; ++e)
      if (TILE_COLUMN(j, e) < s->width) squares[IS_LOWER(e)] += y[j][e] * y[j][e];
  add_across(part, squares);
  UNROLLED
  for (int i = 0; i < 2; ++i)
    rstd[i] =
        finish->weight ? 1 / sqrt(squares[i] / (Real)s->width + finish->norm_eps) : (Real)1;
}
FUNCTION Real residual_at(const LinearShape* s, const LinearFinish* finish, Index row, int channel) {
  return finish->residual ? load(finish->residual, row * s->residual.token + channel) : (Real)0;
}
