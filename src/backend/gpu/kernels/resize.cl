// Nearest and linear resizing over three axes. (Places are computed as on the CPU, in double precision
// where the device has it.)
#include "types.h"

typedef struct {
  Index low, high;
  Wide fraction;  // the weight of high
} Source;

FUNCTION Source source_of(const ResizeShape* s, int axis, Index o) {
  const Index in = s->in[axis];
  const Index out = s->out[axis];
  Source source;
  if (!s->linear) {
    source.low = source.high = o * in / out;
    source.fraction = 0;
    return source;
  }
  Wide place = 0;
  if (s->align_corners) {
    if (out > 1) place = (Wide)(o * (in - 1)) / (Wide)(out - 1);
  } else {
    place = ((Wide)o + (Wide)0.5) * (Wide)in / (Wide)out - (Wide)0.5;
    if (place < 0) place = 0;
  }
  source.low = (Index)place < in - 1 ? (Index)place : in - 1;
  source.high = source.low + 1 < in - 1 ? source.low + 1 : in - 1;
  source.fraction = place - (Wide)source.low;
  return source;
}

KERNEL resize(ResizeShape s, TENSOR(const Stored, x), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  const Index plane = ITEM / (s.out[0] * s.out[1] * s.out[2]);
  if (plane >= s.planes) return;
  Source at[3];
  at[2] = source_of(&s, 2, ITEM % s.out[2]);
  at[1] = source_of(&s, 1, ITEM / s.out[2] % s.out[1]);
  at[0] = source_of(&s, 0, ITEM / (s.out[2] * s.out[1]) % s.out[0]);
  Real sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    Wide weight = 1;
    Index i = plane;
    for (int axis = 0; axis < 3; ++axis) {
      const int high = corner >> (2 - axis) & 1;
      weight *= high ? at[axis].fraction : 1 - at[axis].fraction;
      i = i * s.in[axis] + (high ? at[axis].high : at[axis].low);
    }
    if (weight != 0) sum += (Real)weight * load(x, i);
  }
  store(y, ITEM, sum);
}

// Weight of input i in output o.
FUNCTION Wide weight_in(const ResizeShape* s, int axis, Index o, Index i) {
  const Source source = source_of(s, axis, o);
  return (source.low == i ? 1 - source.fraction : 0) + (source.high == i ? source.fraction : 0);
}

// Outputs from first to last are those that may read input i.
FUNCTION Index first_reader(const ResizeShape* s, int axis, Index i) {
  const Index ends = s->align_corners && s->linear ? 1 : 0;
  if (s->in[axis] <= ends || i < 2) return 0;
  const Index o = (i - 2) * (s->out[axis] - ends) / (s->in[axis] - ends) - 1;
  return o > 0 ? o : 0;
}
FUNCTION Index last_reader(const ResizeShape* s, int axis, Index i) {
  const Index ends = s->align_corners && s->linear ? 1 : 0;
  const Index last = s->out[axis] - 1;
  if (s->in[axis] <= ends || i + 2 >= s->in[axis]) return last;
  const Index o = (i + 2) * (s->out[axis] - ends) / (s->in[axis] - ends) + 1;
  return o < last ? o : last;
}

KERNEL resize_backward(ResizeShape s, TENSOR(const Stored, dy), TENSOR(Stored, dx)) {
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  const Index plane = ITEM / (s.in[0] * s.in[1] * s.in[2]);
  if (plane >= s.planes) return;
  const Index w = ITEM % s.in[2];
  const Index h = ITEM / s.in[2] % s.in[1];
  const Index d = ITEM / (s.in[2] * s.in[1]) % s.in[0];
  Real sum = 0;
  for (Index od = first_reader(&s, 0, d); od <= last_reader(&s, 0, d); ++od) {
    const Wide by_depth = weight_in(&s, 0, od, d);
    if (by_depth == 0) continue;
    for (Index oh = first_reader(&s, 1, h); oh <= last_reader(&s, 1, h); ++oh) {
      const Wide by_row = by_depth * weight_in(&s, 1, oh, h);
      if (by_row == 0) continue;
      for (Index ow = first_reader(&s, 2, w); ow <= last_reader(&s, 2, w); ++ow) {
        const Wide weight = by_row * weight_in(&s, 2, ow, w);
        if (weight != 0)
          sum += (Real)weight *
                 load(dy, ((plane * s.out[0] + od) * s.out[1] + oh) * s.out[2] + ow);
      }
    }
  }
  store(dx, ITEM, sum);
}
