// Max and average pooling over windows of three axes.
#include "types.h"

typedef struct {
  Index begin, end, places;  // places: with those of the padding
} Window;

FUNCTION Window window_of(const PoolShape* s, int axis, Index o) {
  Window window;
  if (s->adaptive) {
    window.begin = o * s->in[axis] / s->out[axis];
    window.end = ((o + 1) * s->in[axis] + s->out[axis] - 1) / s->out[axis];
    window.places = window.end - window.begin;
    return window;
  }
  const Index first = o * s->stride[axis] - s->padding[axis];
  window.begin = first > 0 ? first : 0;
  window.end = first + s->kernel_size[axis] < s->in[axis] ? first + s->kernel_size[axis] : s->in[axis];
  window.places = s->kernel_size[axis];
  return window;
}

FUNCTION Real share_of_window(const PoolShape* s, Window d, Window h, Window w) {
  return s->count_padding
             ? (Real)1 / (Real)(d.places * h.places * w.places)
             : (Real)1 / (Real)((d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin));
}

KERNEL pool(PoolShape s, TENSOR(const Stored, x), TENSOR(Stored, y), TENSOR(Index, argmax)) {
  OPEN(const Stored, x);
  OPEN(Stored, y);
  OPEN(Index, argmax);
  const Index plane = ITEM / (s.out[0] * s.out[1] * s.out[2]);
  if (plane >= s.planes) return;
  const Window ww = window_of(&s, 2, ITEM % s.out[2]);
  const Window wh = window_of(&s, 1, ITEM / s.out[2] % s.out[1]);
  const Window wd = window_of(&s, 0, ITEM / (s.out[2] * s.out[1]) % s.out[0]);
  const Index start = plane * s.in[0] * s.in[1] * s.in[2];
  Real value = s.average ? (Real)0 : -INFINITY;
  Index best = (wd.begin * s.in[1] + wh.begin) * s.in[2] + ww.begin;
  for (Index d = wd.begin; d < wd.end; ++d) {
    for (Index h = wh.begin; h < wh.end; ++h) {
      for (Index w = ww.begin; w < ww.end; ++w) {
        const Index at = (d * s.in[1] + h) * s.in[2] + w;
        const Real element = load(x, start + at);
        if (s.average) {
          value += element;
        } else if (element > value || IS_NAN(element)) {
          value = element;
          best = at;
        }
      }
    }
  }
  store(y, ITEM, s.average ? value * share_of_window(&s, wd, wh, ww) : value);
  if (s.writes_argmax) argmax[ITEM] = best;
}

// Outputs from first to last have windows that may hold input i.
FUNCTION Index first_window(const PoolShape* s, int axis, Index i) {
  const Index o = s->adaptive ? i * s->out[axis] / s->in[axis] - 1
                              : (i + s->padding[axis] - s->kernel_size[axis]) / s->stride[axis];
  return o > 0 ? o : 0;
}
FUNCTION Index last_window(const PoolShape* s, int axis, Index i) {
  const Index o = s->adaptive ? (i + 1) * s->out[axis] / s->in[axis] + 1
                              : (i + s->padding[axis]) / s->stride[axis];
  return o < s->out[axis] ? o : s->out[axis] - 1;
}
FUNCTION int inside(Window window, Index i) { return i >= window.begin && i < window.end; }

KERNEL pool_backward(PoolShape s, TENSOR(const Stored, dy), TENSOR(const Index, argmax),
                     TENSOR(Stored, dx)) {
  OPEN(const Stored, dy);
  OPEN(const Index, argmax);
  OPEN(Stored, dx);
  const Index volume = s.in[0] * s.in[1] * s.in[2];
  const Index plane = ITEM / volume;
  if (plane >= s.planes) return;
  const Index w = ITEM % s.in[2];
  const Index h = ITEM / s.in[2] % s.in[1];
  const Index d = ITEM / (s.in[2] * s.in[1]) % s.in[0];
  Real sum = 0;
  for (Index od = first_window(&s, 0, d); od <= last_window(&s, 0, d); ++od) {
    const Window wd = window_of(&s, 0, od);
    if (!inside(wd, d)) continue;
    for (Index oh = first_window(&s, 1, h); oh <= last_window(&s, 1, h); ++oh) {
      const Window wh = window_of(&s, 1, oh);
      if (!inside(wh, h)) continue;
      for (Index ow = first_window(&s, 2, w); ow <= last_window(&s, 2, w); ++ow) {
        const Window ww = window_of(&s, 2, ow);
        if (!inside(ww, w)) continue;
        const Index o = ((plane * s.out[0] + od) * s.out[1] + oh) * s.out[2] + ow;
        if (s.average) {
          sum += load(dy, o) * share_of_window(&s, wd, wh, ww);
        } else if (argmax[o] == ITEM % volume) {
          sum += load(dy, o);
        }
      }
    }
  }
  store(dx, ITEM, sum);
}
