// Sums over the elements of lists of tensors: of squares, or of how many are not finite. A launch takes
// LIST_TENSORS tensors; a group sums a piece of one of them, and one group adds what all pieces gave.
#include "types.h"

#define EACH_OF_LIST(use) \
  use(0) use(1) use(2) use(3) use(4) use(5) use(6) use(7) use(8) use(9) use(10) use(11) \
  use(12) use(13) use(14) use(15)

FUNCTION Wide group_sum_wide(SHARED Wide* shared, Wide value) {
  shared[PLACE] = value;
  SYNCHRONIZE;
  for (int width = GROUP_SIZE / 2; width > 0; width /= 2) {
    if (PLACE < width) shared[PLACE] += shared[PLACE + width];
    SYNCHRONIZE;
  }
  return shared[0];
}

#define PARAMETER_OF_LIST(k) , TENSOR(const Stored, x##k)
#define CHOICE_OF_LIST(k) \
  if (which == k) x = x##k##_memory + x##k##_first;

KERNEL list_pieces(List list, Int32 squares, TENSOR(Wide, partial) EACH_OF_LIST(PARAMETER_OF_LIST)) {
  OPEN(Wide, partial);
  LOCAL Wide shared[GROUP_SIZE];
  int which = 0;
  while (GROUP >= list.first_piece[which + 1]) ++which;
  GLOBAL const Stored* x = 0;
  EACH_OF_LIST(CHOICE_OF_LIST)
  const Index first = (GROUP - list.first_piece[which]) * LIST_PIECE;
  const Index rest = list.sizes[which] - first;
  Wide sum = 0;
  for (Index i = PLACE; i < LIST_PIECE && i < rest; i += GROUP_SIZE) {
    const Real value = load(x, first + i);
    if (squares) {
      sum += (Wide)value * (Wide)value;
    } else if (!IS_FINITE(value)) {
      sum += 1;
    }
  }
  sum = group_sum_wide(shared, sum);
  if (PLACE == 0) partial[GROUP] = sum;
}

// One group; y is the sum, or 1 if it is 0.
KERNEL list_total(Index pieces, Int32 squares, TENSOR(const Wide, partial), GLOBAL Byte* y_memory,
                  Index y_first) {
  OPEN(const Wide, partial);
  LOCAL Wide shared[GROUP_SIZE];
  Wide sum = 0;
  for (Index i = PLACE; i < pieces; i += GROUP_SIZE) sum += partial[i];
  sum = group_sum_wide(shared, sum);
  if (PLACE != 0) return;
  if (squares) {
    ((GLOBAL Wide*)y_memory)[y_first] = sum;
  } else {
    y_memory[y_first] = sum == 0;
  }
}
