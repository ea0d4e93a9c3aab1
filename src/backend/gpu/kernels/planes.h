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
