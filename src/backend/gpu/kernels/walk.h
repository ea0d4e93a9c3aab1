// Where element i of a walk's output is found in an operand.
FUNCTION Index walk_offset(const Walk* walk, int operand, Index i) {
  Index at = 0;
  for (int axis = (int)walk->axes - 1; axis > 0; --axis) {
    at += i % walk->sizes[axis] * walk->steps[operand][axis];
    i /= walk->sizes[axis];
  }
  return at + i * walk->steps[operand][0];
}

// A NaN on either side fails both comparisons and comes out of the sum.
FUNCTION Real larger_or_smaller(int larger, Real a, Real b) {
  if (larger) return a >= b ? a : b > a ? b : a + b;
  return a <= b ? a : b < a ? b : a + b;
}
