// Convolution over three axes and its gradients, directly from the definition: what groups of few
// channels are best at. conv_product.cl has the others.
#include "types.h"
#include "operations.h"
#include "group.h"
#include "grid.h"

KERNEL conv(ConvShape s, TENSOR(const Stored, x), TENSOR(const Real, weight),
            TENSOR(const Real, bias), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(const Real, weight);
  OPEN(const Real, bias);
  OPEN(Stored, y);
  const Index ow = ITEM % s.out[2];
  const Index oh = ITEM / s.out[2] % s.out[1];
  const Index od = ITEM / (s.out[2] * s.out[1]) % s.out[0];
  const Index co = ITEM / VOLUME(s.out) % s.out_channels;
  const Index item = ITEM / VOLUME(s.out) / s.out_channels;
  if (item >= s.batch) return;
  const Index inputs = s.in_channels / s.groups;
  const Index first = co / (s.out_channels / s.groups) * inputs;
  Real sum = IS_DEFINED(bias) ? bias[co] : (Real)0;
  for (Index ci = 0; ci < inputs; ++ci) {
    const Index plane = (item * s.in_channels + first + ci) * VOLUME(s.in);
    const Index taps = (co * inputs + ci) * VOLUME(s.kernel_size);
    for (Index kd = 0; kd < s.kernel_size[0]; ++kd) {
      const Index d = od * s.stride[0] - s.padding[0] + kd * s.dilation[0];
      if (d < 0 || d >= s.in[0]) continue;
      for (Index kh = 0; kh < s.kernel_size[1]; ++kh) {
        const Index h = oh * s.stride[1] - s.padding[1] + kh * s.dilation[1];
        if (h < 0 || h >= s.in[1]) continue;
        for (Index kw = 0; kw < s.kernel_size[2]; ++kw) {
          const Index w = ow * s.stride[2] - s.padding[2] + kw * s.dilation[2];
          if (w < 0 || w >= s.in[2]) continue;
          sum += load(x, plane + FLAT(d, h, w, s.in)) *
                 weight[taps + FLAT(kd, kh, kw, s.kernel_size)];
        }
      }
    }
  }
  store(y, ITEM, sum);
}

KERNEL conv_backward_data(ConvShape s, TENSOR(const Real, weight), TENSOR(const Stored, dy),
                          TENSOR(Stored, dx)) {
  OPEN(const Real, weight);
  OPEN(const Stored, dy);
  OPEN(Stored, dx);
  const Index w = ITEM % s.in[2];
  const Index h = ITEM / s.in[2] % s.in[1];
  const Index d = ITEM / (s.in[2] * s.in[1]) % s.in[0];
  const Index ci = ITEM / VOLUME(s.in) % s.in_channels;
  const Index item = ITEM / VOLUME(s.in) / s.in_channels;
  if (item >= s.batch) return;
  const Index inputs = s.in_channels / s.groups;
  const Index outputs = s.out_channels / s.groups;
  const Index first = ci / inputs * outputs;
  Real sum = 0;
  for (Index co = first; co < first + outputs; ++co) {
    const Index plane = (item * s.out_channels + co) * VOLUME(s.out);
    const Index taps = (co * inputs + ci % inputs) * VOLUME(s.kernel_size);
    for (Index kd = 0; kd < s.kernel_size[0]; ++kd) {
      const Index od = output_of(&s, 0, d, kd);
      if (od < 0) continue;
      for (Index kh = 0; kh < s.kernel_size[1]; ++kh) {
        const Index oh = output_of(&s, 1, h, kh);
        if (oh < 0) continue;
        for (Index kw = 0; kw < s.kernel_size[2]; ++kw) {
          const Index ow = output_of(&s, 2, w, kw);
          if (ow < 0) continue;
          sum += load(dy, plane + FLAT(od, oh, ow, s.out)) *
                 weight[taps + FLAT(kd, kh, kw, s.kernel_size)];
        }
      }
    }
  }
  store(dx, ITEM, sum);
}

// One group an element of the weight.
KERNEL conv_backward_weight(ConvShape s, TENSOR(const Stored, x), TENSOR(const Stored, dy),
                            TENSOR(Real, dweight)) {
  OPEN(const Stored, x);
  OPEN(const Stored, dy);
  OPEN(Real, dweight);
  LOCAL Real shared[GROUP_SIZE];
  const Index inputs = s.in_channels / s.groups;
  const Index kw = GROUP % s.kernel_size[2];
  const Index kh = GROUP / s.kernel_size[2] % s.kernel_size[1];
  const Index kd = GROUP / (s.kernel_size[2] * s.kernel_size[1]) % s.kernel_size[0];
  const Index co = GROUP / VOLUME(s.kernel_size) / inputs;
  const Index ci = co / (s.out_channels / s.groups) * inputs + GROUP / VOLUME(s.kernel_size) % inputs;
  Real sum = 0;
  for (Index i = PLACE; i < s.batch * VOLUME(s.out); i += GROUP_SIZE) {
    const Index item = i / VOLUME(s.out);
    const Index o = i % VOLUME(s.out);
    const Index w = o % s.out[2] * s.stride[2] - s.padding[2] + kw * s.dilation[2];
    const Index h = o / s.out[2] % s.out[1] * s.stride[1] - s.padding[1] + kh * s.dilation[1];
    const Index d = o / (s.out[2] * s.out[1]) * s.stride[0] - s.padding[0] + kd * s.dilation[0];
    if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1] || w < 0 || w >= s.in[2]) continue;
    sum += load(dy, (item * s.out_channels + co) * VOLUME(s.out) + o) *
           load(x, (item * s.in_channels + ci) * VOLUME(s.in) + FLAT(d, h, w, s.in));
  }
  sum = group_sum(shared, sum);
  if (PLACE == 0) dweight[GROUP] = sum;
}
