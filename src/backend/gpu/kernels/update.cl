// Updates in place: of parameters, averages and sums.
#include "types.h"

// y += alpha x.
KERNEL axpy(Index n, Real alpha, TENSOR(const Stored, x), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  if (ITEM < n) store(y, ITEM, load(y, ITEM) + alpha * load(x, ITEM));
}

// Updates of lists of tensors: a group makes a piece of one of them.

#define EACH_UPDATE(use) use(0) use(1) use(2) use(3) use(4) use(5) use(6) use(7)

// Elements [first, end) of tensor `which` are the group's.
typedef struct {
  Index first, end;
  int which;
} UpdatedPiece;

FUNCTION UpdatedPiece updated_piece(const List* list) {
  UpdatedPiece piece;
  piece.which = 0;
  while (GROUP >= list->first_piece[piece.which + 1]) ++piece.which;
  const Index size = list->sizes[piece.which];
  piece.first = (GROUP - list->first_piece[piece.which]) * UPDATE_PIECE;
  piece.end = size - piece.first < UPDATE_PIECE ? size : piece.first + UPDATE_PIECE;
  return piece;
}

#define PARAMETERS_OF_EMA(k) , TENSOR(const Stored, x##k), TENSOR(Stored, average##k)
#define CHOICE_OF_EMA(k)                 \
  if (piece.which == k) {                \
    x = x##k##_memory + x##k##_first;    \
    average = average##k##_memory + average##k##_first; \
  }

KERNEL ema(List list, Real decay, Real rest EACH_UPDATE(PARAMETERS_OF_EMA)) {
  const UpdatedPiece piece = updated_piece(&list);
  GLOBAL const Stored* x = 0;
  GLOBAL Stored* average = 0;
  EACH_UPDATE(CHOICE_OF_EMA)
  for (Index i = piece.first + PLACE; i < piece.end; i += GROUP_SIZE)
    store(average, i, decay * load(average, i) + rest * load(x, i));
}

#define PARAMETERS_OF_ADAM(k)                                                              \
  , TENSOR(const Stored, grad##k), TENSOR(Stored, param##k), TENSOR(Stored, m##k),          \
      TENSOR(Stored, v##k)
#define CHOICE_OF_ADAM(k)                     \
  if (piece.which == k) {                      \
    grad = grad##k##_memory + grad##k##_first; \
    param = param##k##_memory + param##k##_first; \
    m = m##k##_memory + m##k##_first;          \
    v = v##k##_memory + v##k##_first;          \
  }

// dgsa 6.4. rate = lr / (1 - beta1^step), root = 1 / sqrt(1 - beta2^step). Of weight decay: kept is
// what is left of a weight, in_gradient its share in its gradient.
KERNEL adam(List list, TENSOR(const Wide, scale), Real beta1, Real rest1, Real beta2, Real rest2,
            Real rate, Real root, Real eps, Real kept, Real in_gradient
                EACH_UPDATE(PARAMETERS_OF_ADAM)) {
  const Real times = IS_DEFINED(scale) ? (Real)scale_memory[scale_first] : (Real)1;
  if (!IS_FINITE(times)) return;
  const UpdatedPiece piece = updated_piece(&list);
  GLOBAL const Stored* grad = 0;
  GLOBAL Stored* param = 0;
  GLOBAL Stored* m = 0;
  GLOBAL Stored* v = 0;
  EACH_UPDATE(CHOICE_OF_ADAM)
  for (Index i = piece.first + PLACE; i < piece.end; i += GROUP_SIZE) {
    const Real g = times * load(grad, i) + in_gradient * load(param, i);
    const Real first = beta1 * load(m, i) + rest1 * g;
    const Real second = beta2 * load(v, i) + rest2 * g * g;
    store(m, i, first);
    store(v, i, second);
    store(param, i, kept * load(param, i) - rate * first / (sqrt(second) * root + eps));
  }
}

#define PARAMETERS_OF_SGD(k) \
  , TENSOR(const Stored, grad##k), TENSOR(Stored, param##k), TENSOR(Stored, momentum##k)
#define CHOICE_OF_SGD(k)                                                            \
  if (piece.which == k) {                                                           \
    grad = grad##k##_memory + grad##k##_first;                                      \
    param = param##k##_memory + param##k##_first;                                   \
    momentum = IS_DEFINED(momentum##k) ? momentum##k##_memory + momentum##k##_first : 0; \
  }

// The momentum may be undefined; `fresh` starts it.
KERNEL sgd(List list, TENSOR(const Wide, scale), Real lr, Real mu, Real rest, Real decay,
           Int32 nesterov, Int32 fresh EACH_UPDATE(PARAMETERS_OF_SGD)) {
  const Real times = IS_DEFINED(scale) ? (Real)scale_memory[scale_first] : (Real)1;
  if (!IS_FINITE(times)) return;
  const UpdatedPiece piece = updated_piece(&list);
  GLOBAL const Stored* grad = 0;
  GLOBAL Stored* param = 0;
  GLOBAL Stored* momentum = 0;
  EACH_UPDATE(CHOICE_OF_SGD)
  for (Index i = piece.first + PLACE; i < piece.end; i += GROUP_SIZE) {
    Real step = times * load(grad, i) + decay * load(param, i);
    if (momentum) {
      const Real now = fresh ? step : mu * load(momentum, i) + rest * step;
      store(momentum, i, now);
      step = nesterov ? step + mu * now : now;
    }
    store(param, i, load(param, i) - lr * step);
  }
}
