// Grids of three axes. x: (batch, in_channels, in), y: (batch, out_channels, out), weight:
// (out_channels, in_channels / groups, kernel).

typedef struct {
  Index d, h, w;
} Point;

#define VOLUME(sizes) ((sizes)[0] * (sizes)[1] * (sizes)[2])
#define FLAT(d, h, w, sizes) (((d) * (sizes)[1] + (h)) * (sizes)[2] + (w))

FUNCTION Point point_of(Index flat, const Index* sizes) {
  Point point;
  point.w = flat % sizes[2];
  point.h = flat / sizes[2] % sizes[1];
  point.d = flat / (sizes[2] * sizes[1]);
  return point;
}

// Flat index of the input that output o reads through tap k; -1 in the padding.
FUNCTION Index input_at(const ConvShape* s, Point o, Point k) {
  const Index d = o.d * s->stride[0] - s->padding[0] + k.d * s->dilation[0];
  const Index h = o.h * s->stride[1] - s->padding[1] + k.h * s->dilation[1];
  const Index w = o.w * s->stride[2] - s->padding[2] + k.w * s->dilation[2];
  if (d < 0 || d >= s->in[0] || h < 0 || h >= s->in[1] || w < 0 || w >= s->in[2]) return -1;
  return FLAT(d, h, w, s->in);
}

// The output that input i reaches through tap k along one axis; -1 if there is none.
FUNCTION Index output_of(const ConvShape* s, int axis, Index i, Index k) {
  const Index at = i + s->padding[axis] - k * s->dilation[axis];
  if (at < 0 || at % s->stride[axis] != 0) return -1;
  const Index o = at / s->stride[axis];
  return o < s->out[axis] ? o : -1;
}
FUNCTION Index output_at(const ConvShape* s, Point i, Point k) {
  const Index d = output_of(s, 0, i.d, k.d);
  const Index h = output_of(s, 1, i.h, k.h);
  const Index w = output_of(s, 2, i.w, k.w);
  return d < 0 || h < 0 || w < 0 ? -1 : FLAT(d, h, w, s->out);
}
