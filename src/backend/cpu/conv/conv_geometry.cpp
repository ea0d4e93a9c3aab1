#include "backend/cpu/conv/conv_geometry.h"

#include <algorithm>

#include "backend/cpu/pieces.h"

namespace fovea::cpu {
namespace {

// Calls visit(column, run) for the stretch of every matrix row that belongs to one output row.
// Elements [valid_begin, valid_end) of the stretch come from x[source], x[source + stride], ...
struct Run {
  std::int64_t length, valid_begin, valid_end, source;
};

template <class Visit>
void for_runs(const ConvGeometry& g, std::int64_t channels, std::int64_t begin, std::int64_t count,
              std::int64_t ld, const Visit& visit) {
  const std::int64_t width = g.out[2];
  for (std::int64_t row = 0; row < channels * g.taps(); ++row) {
    const std::int64_t tap = row % g.taps();
    const std::int64_t plane = row / g.taps() * g.in_size();
    const auto shift = [&](std::size_t axis, std::int64_t k) {
      return k * g.dilation[axis] - g.padding[axis];
    };
    const std::int64_t shift_d = shift(0, tap / (g.kernel[1] * g.kernel[2]));
    const std::int64_t shift_h = shift(1, tap / g.kernel[2] % g.kernel[1]);
    const std::int64_t shift_w = shift(2, tap % g.kernel[2]);
    const Valid valid = valid_outputs(width, g.in[2], g.stride[2], shift_w);
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t w = (begin + i) % width;
      const std::int64_t line = (begin + i) / width;
      const std::int64_t d = line / g.out[1] * g.stride[0] + shift_d;
      const std::int64_t h = line % g.out[1] * g.stride[1] + shift_h;
      Run run{std::min(width - w, count - i), 0, 0, 0};
      if (d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1]) {
        run.valid_begin = std::clamp<std::int64_t>(valid.begin - w, 0, run.length);
        run.valid_end = std::clamp<std::int64_t>(valid.end - w, run.valid_begin, run.length);
        run.source =
            plane + (d * g.in[1] + h) * g.in[2] + (w + run.valid_begin) * g.stride[2] + shift_w;
      }
      visit(row * ld + i, run);
      i += run.length;
    }
  }
}

}  // namespace

ConvGeometry conv_geometry(Bits bits, const ConvArgs& args, const Shape& x, const Shape& weight,
                           const Shape& y) {
  ConvGeometry g;
  g.bits = bits;
  g.batch = x[0];
  g.groups = args.groups;
  g.c_in = weight[1];
  g.c_out = weight[0] / args.groups;
  g.in = spatial_axes(x);
  g.out = spatial_axes(y);
  g.kernel = spatial_axes(weight);
  g.stride = three_axes(args.stride, 1);
  g.padding = three_axes(args.padding, 0);
  g.dilation = three_axes(args.dilation, 1);
  return g;
}

std::int64_t conv_pieces(const ConvGeometry& g, std::int64_t sums) {
  constexpr std::int64_t kLeastWork = 1 << 23, kLeastPerSum = 1024;
  return piece_count(g.macs(),
                     {.few = kFewConvPieces, .least = std::max(kLeastWork, kLeastPerSum * sums)});
}

ConvGeometry reversed(const ConvGeometry& g) {
  ConvGeometry r = g;
  std::swap(r.c_in, r.c_out);
  std::swap(r.in, r.out);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    r.padding[axis] = g.reach(axis) - 1 - g.padding[axis];
  }
  return r;
}

Valid valid_outputs(std::int64_t out, std::int64_t in, std::int64_t stride, std::int64_t shift) {
  const auto first_at_least = [&](std::int64_t input) {
    return input <= shift ? std::int64_t{0} : (input - shift + stride - 1) / stride;
  };
  const std::int64_t end = std::min(out, first_at_least(in));
  return {std::min(end, first_at_least(0)), end};
}

template <class T>
void scatter_patches(const ConvGeometry& g, const T* columns, std::int64_t ld,
                     std::int64_t channels, std::int64_t begin, std::int64_t count, T* x) {
  const std::int64_t stride = g.stride[2];
  for_runs(g, channels, begin, count, ld, [&](std::int64_t column, const Run& run) {
    const T* from = columns + column + run.valid_begin;
    T* to = x + run.source;
    for (std::int64_t i = 0; i < run.valid_end - run.valid_begin; ++i) to[i * stride] += from[i];
  });
}

#define FOVEA_INSTANTIATE(T)                                                                  \
  template void scatter_patches<T>(const ConvGeometry&, const T*, std::int64_t, std::int64_t, \
                                   std::int64_t, std::int64_t, T*);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
