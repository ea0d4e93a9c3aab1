// Depthwise convolution of tokens on a grid, channels last, and its gradients.
#include "types.h"

// Also backwards, where x is the gradient of the result and taps reach the other way. The weight is
// (channels, taps).
KERNEL token_conv(TokenGrid s, Int32 back, Int32 residual, TENSOR(const Stored, x),
                  TENSOR(const Real, weight), TENSOR(const Real, bias), TENSOR(Stored, y)) {
  OPEN(const Stored, x);
  OPEN(const Real, weight);
  OPEN(const Real, bias);
  OPEN(Stored, y);
  const Index channel = ITEM % s.channels;
  const Index token = ITEM / s.channels;
  const Index line = token / s.size[2];
  if (line >= s.batch * s.size[0] * s.size[1]) return;
  const Index d = line / s.size[1] % s.size[0];
  const Index h = line % s.size[1];
  const Index w = token % s.size[2];
  const int sign = back ? -1 : 1;
  GLOBAL const Real* tap = weight + channel * s.kernel_size[0] * s.kernel_size[1] * s.kernel_size[2];
  Real sum = IS_DEFINED(bias) ? bias[channel] : (Real)0;
  for (Index kd = 0; kd < s.kernel_size[0]; ++kd) {
    const Index down = sign * (kd - s.kernel_size[0] / 2);
    for (Index kh = 0; kh < s.kernel_size[1]; ++kh) {
      const Index over = sign * (kh - s.kernel_size[1] / 2);
      for (Index kw = 0; kw < s.kernel_size[2]; ++kw, ++tap) {
        const Index along = sign * (kw - s.kernel_size[2] / 2);
        if (d + down < 0 || d + down >= s.size[0] || h + over < 0 || h + over >= s.size[1] ||
            w + along < 0 || w + along >= s.size[2])
          continue;
        const Index from = token + (down * s.size[1] + over) * s.size[2] + along;
        sum += *tap * load(x, from * s.channels + channel);
      }
    }
  }
  store(y, ITEM, residual ? sum + load(x, ITEM) : sum);
}

// Of every tap, channel and piece of `piece` lines of the grid: the sum of dy x, (pieces, channels,
// taps). Neighbouring work items have neighbouring channels.
KERNEL token_conv_weight(TokenGrid s, Index piece, TENSOR(const Stored, x),
                         TENSOR(const Stored, dy), TENSOR(Real, partial)) {
  OPEN(const Stored, x);
  OPEN(const Stored, dy);
  OPEN(Real, partial);
  const Index taps = s.kernel_size[0] * s.kernel_size[1] * s.kernel_size[2];
  const Index channel = ITEM % s.channels;
  const Index tap = ITEM / s.channels % taps;
  const Index number = ITEM / (s.channels * taps);
  const Index lines = s.batch * s.size[0] * s.size[1];
  if (number * piece >= lines) return;
  const Index end = (number + 1) * piece < lines ? (number + 1) * piece : lines;
  const Index along = tap % s.kernel_size[2] - s.kernel_size[2] / 2;
  const Index over = tap / s.kernel_size[2] % s.kernel_size[1] - s.kernel_size[1] / 2;
  const Index down = tap / (s.kernel_size[2] * s.kernel_size[1]) - s.kernel_size[0] / 2;
  Real sum = 0;
  for (Index line = number * piece; line < end; ++line) {
    const Index h = line % s.size[1] + over;
    const Index d = line / s.size[1] % s.size[0] + down;
    if (h < 0 || h >= s.size[1] || d < 0 || d >= s.size[0]) continue;
    const Index from = (line + down * s.size[1] + over) * s.size[2] + along;
    for (Index w = along < 0 ? -along : 0; w < s.size[2] && w + along < s.size[2]; ++w)
      sum += load(dy, (line * s.size[2] + w) * s.channels + channel) *
             load(x, (from + w) * s.channels + channel);
  }
  partial[(number * s.channels + channel) * taps + tap] = sum;
}
