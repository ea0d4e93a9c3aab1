// Where element i of a walk's output is found in an operand.
FUNCTION Index walk_offset(const Walk* walk, int operand, Index i) {
  Index at = 0;
  for (int axis = (int)walk->axes - 1; axis > 0; --axis) {
    at += i % walk->sizes[axis] * walk->steps[operand][axis];
    i /= walk->sizes[axis];
  }
  return at + i * walk->steps[operand][0];
}

// Where the channels of a head begin, of the first item and of any.
FUNCTION Index start_of(const HeadWalk* walk, Index head) {
  return walk->first + head / walk->per * walk->outer + head % walk->per * walk->inner;
}
FUNCTION Index head_start(const HeadWalk* walk, Index item, Index head) {
  return item * walk->item + start_of(walk, head);
}
