// The operations of operations.def as numbers: UnaryExp, BinaryMax, ReduceMax. What several kernels
// make of them.
#define FOVEA_UNARY(name) Unary##name,
enum {
#include "../../operations.def"
};
#define FOVEA_BINARY(name) Binary##name,
enum {
#include "../../operations.def"
};
#define FOVEA_REDUCE(name) Reduce##name,
enum {
#include "../../operations.def"
};

// A NaN on either side fails both comparisons and comes out of the sum.
FUNCTION Real larger_or_smaller(int larger, Real a, Real b) {
  if (larger) return a >= b ? a : b > a ? b : a + b;
  return a <= b ? a : b < a ? b : a + b;
}
