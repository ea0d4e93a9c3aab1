// What work items of a group find out together. A row of elements is shared by a team of neighbouring
// work items: a power of two of them, so that a group of GROUP_SIZE holds whole teams. Results come in
// an order that depends on the size of the team alone. All of a group have to call these functions.

FUNCTION Real join(Int32 op, Real a, Real b) {
  if (op == ReduceMax || op == ReduceMin) return larger_or_smaller(op == ReduceMax, a, b);
  return a + b;
}

// The values of each team joined, known to all of it: those of its two halves first, then of its
// quarters, in the same order on all devices. `shared`: GROUP_SIZE places.
#ifdef SHUFFLE_XOR
#define WARPS (GROUP_SIZE / WARP)
FUNCTION Real team_join(Int32 op, int team, SHARED Real* shared, Real value) {
  if (team > WARP) {
    shared[PLACE] = value;
    SYNCHRONIZE;
    // Each warp joins its team's warps, lane by lane.
    SHARED const Real* lane = shared + PLACE / team * team + PLACE % WARP;
    Real of[WARPS];
    UNROLLED
    for (int i = 0; i < WARPS; ++i) of[i] = i < team / WARP ? lane[i * WARP] : (Real)0;
    UNROLLED
    for (int half = WARPS / 2; half > 0; half /= 2) {
      UNROLLED
      for (int i = 0; i < half; ++i)
        if (half < team / WARP) of[i] = join(op, of[i], of[i + half]);
    }
    value = of[0];
    SYNCHRONIZE;  // before the places are used again
  }
  for (int width = (team < WARP ? team : WARP) / 2; width > 0; width /= 2)
    value = join(op, value, SHUFFLE_XOR(value, width));
  return value;
}
#undef WARPS
#else
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
#endif
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
