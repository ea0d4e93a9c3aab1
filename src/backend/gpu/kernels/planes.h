// Planes of maps, cut into pieces (Planes of structs.h), and the sets of planes that a norm goes over.

// Sets have statistics of their own: the planes of a channel, or those of some channels of an item.
FUNCTION Index planes_of_set(const Planes* s) {
  return s->groups == 0 ? s->batch : s->channels / s->groups;
}
FUNCTION Index plane_of_set(const Planes* s, Index set, Index k) {
  return s->groups == 0 ? k * s->channels + set : set * planes_of_set(s) + k;
}
FUNCTION Index set_of_plane(const Planes* s, Index plane) {
  return s->groups == 0 ? plane % s->channels : plane / planes_of_set(s);
}
FUNCTION Index piece_length(const Planes* s, Index piece) {
  const Index rest = s->space - piece * s->piece;
  return rest < s->piece ? rest : s->piece;
}

// A work item's piece: rows are the pieces of all planes. Past the last one it is empty.
typedef struct {
  Index plane, first, end;
} Piece;

FUNCTION Piece piece_of(const Rows* rows, const Planes* s) {
  const Index row = row_of(rows);
  Piece piece;
  piece.plane = row / s->pieces;
  piece.first = piece.plane * s->space + row % s->pieces * s->piece;
  piece.end = piece.first;
  if (row < rows->count) piece.end += piece_length(s, row % s->pieces);
  return piece;
}

// A loop over the places that a work item has of its piece.
#define EACH_OF_PIECE(i) \
  for (Index i = piece.first + PLACE % rows.team; i < piece.end; i += rows.team)

// The mean of a piece, of the sum of each work item's elements.
FUNCTION Real piece_mean(const Rows* rows, const Piece* piece, SHARED Real* shared, Real sum) {
  const Index n = piece->end > piece->first ? piece->end - piece->first : 1;
  return team_sum(rows->team, shared, sum) / (Real)n;
}
// What is known of a piece: two numbers, which its team knows.
FUNCTION void put_piece(const Rows* rows, GLOBAL Real* first, Real first_is, GLOBAL Real* second,
                        Real second_is) {
  const Index row = row_of(rows);
  if (PLACE % rows->team != 0 || row >= rows->count) return;
  first[row] = first_is;
  second[row] = second_is;
}

// The gradient of what is normed, of that of the normed value, e: rstd (e - mean(e) - normed mean(e
// normed)); without the means, which may be 0, where statistics are constants.
FUNCTION Real norm_gradient(Real e, Real normed, Real rstd, GLOBAL const Real* mean_e,
                            GLOBAL const Real* mean_with_normed, Index set) {
  Real rest = e;
  if (mean_e) rest -= mean_e[set] + normed * mean_with_normed[set];
  return rest * rstd;
}
