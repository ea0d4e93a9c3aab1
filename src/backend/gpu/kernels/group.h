// What work items of a group find out together. A row of elements is shared by a team of neighbouring
// work items: a power of two of them, so that a group of GROUP_SIZE holds whole teams. Results come in
// an order that depends on the size of the team alone. All of a group have to call these functions.

FUNCTION Real join(Int32 op, Real a, Real b) {
  if (op == ReduceMax || op == ReduceMin) return larger_or_smaller(op == ReduceMax, a, b);
  return a + b;
}

// The values of each team joined, known to all of it. `shared`: GROUP_SIZE places.
FUNCTION Real team_join(Int32 op, int team, SHARED Real* shared, Real value) {
  shared[PLACE] = value;
  SYNCHRONIZE;
  for (int width = team / 2; width > 0; width /= 2) {
    if (PLACE % team < width) shared[PLACE] = join(op, shared[PLACE], shared[PLACE + width]);
    SYNCHRONIZE;
  }
  const Real joined = shared[PLACE / team * team];
  SYNCHRONIZE;  // before the places are used again
  return joined;
}
FUNCTION Real team_sum(int team, SHARED Real* shared, Real value) {
  return team_join(ReduceSum, team, shared, value);
}
FUNCTION Real group_sum(SHARED Real* shared, Real value) {
  return team_sum(GROUP_SIZE, shared, value);
}

// The row of a work item; past the last one there is none, and its length is 0.
FUNCTION Index row_of(const Rows* rows) {
  return GROUP * (GROUP_SIZE / rows->team) + PLACE / rows->team;
}
FUNCTION Index length_of(const Rows* rows, Index row) { return row < rows->count ? rows->n : 0; }
