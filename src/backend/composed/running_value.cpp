// Default bodies: layer attention over a running sum of maps. kcla 2.9, Eq. 8-11.
#include "backend/composed/composed.h"

namespace fovea {

using namespace composed;

namespace {

// Of one number for every plane of a map (b, c, spatial...).
Shape one_a_plane(const Tensor& map) {
  Shape shape{map.size(0), map.size(1)};
  for (int axis = 2; axis < map.rank(); ++axis) shape.push_back(1);
  return shape;
}

Tensor by_plane(const Tensor& numbers, const Tensor& map) {
  return numbers.alias(one_a_plane(map));
}

Tensor plane_sums(const Tensor& x) { return composed::reduce(ReduceOp::kSum, x, one_a_plane(x)); }

}  // namespace

void Backend::scaled_sum(const Tensor& u, const Tensor& w, const Tensor& x, const Tensor& y) const {
  const Tensor product = mul(wide(x), by_plane(w, x));
  write(u.defined() ? add(product, wide(u)) : product, y);
}

void Backend::scaled_sum_backward(const Tensor& x, const Tensor& dy, const Tensor& dw) const {
  write(plane_sums(mul(wide(x), wide(dy))), dw);
}

namespace {

// The depthwise 3x3 convolution of u before it is scaled.
struct Windows {
  Tensor u, kernel;
  ConvArgs args;

  explicit Windows(const ValueNorm& of)
      : u(wide(of.u)),
        kernel(of.kernel.alias({of.u.size(1), 1, 3, 3})),
        args{.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}, .groups = of.u.size(1)} {}
  Tensor convolved() const {
    const Tensor y = Tensor::empty_like(u);
    backend(u).conv(args, u, kernel, {}, y);
    return y;
  }
};

NormedMap normed(const ValueNorm& of, const Tensor& v) {
  return {.x = v, .norm = of.norm, .relu = of.relu, .fixed_stats = of.fixed_stats};
}

}  // namespace

void Backend::running_value(const RunningValueArgs& args, const ValueNorm& of) const {
  scaled_sum(args.before, args.w, args.x, of.u);
  if (of.fixed_stats) return;
  const Tensor v = mul(Windows(of).convolved(), by_plane(of.scale, of.u));
  channel_norm_stats({.eps = args.eps, .x = v, .mean = of.norm.mean, .rstd = of.norm.rstd});
}

void Backend::value_norm(const ValueNorm& of, const Tensor& x, const Tensor& y) const {
  const Tensor v = mul(Windows(of).convolved(), by_plane(of.scale, of.u));
  channel_norm(normed(of, v), v);
  const Tensor kept = of.keep.defined() ? mul(v, by_plane(of.keep, v)) : v;
  write(of.add_x ? add(kept, wide(x)) : kept, y);
}

void Backend::value_norm_backward(const ValueNormBackwardArgs& args) const {
  const ValueNorm& of = args.of;
  const ValueNormGradients& to = args.to;
  const Windows windows(of);
  const Tensor scale = by_plane(of.scale, of.u);
  const Tensor convolved = windows.convolved();
  const Tensor dy = wide(args.dy);
  const Tensor dnorm = of.keep.defined() ? mul(dy, by_plane(of.keep, dy)) : dy;
  const Tensor dv = Tensor::empty_like(convolved);
  channel_norm_backward({.of = normed(of, mul(convolved, scale)),
                         .dy = dnorm,
                         .to = {.x = dv, .weight = to.weight, .bias = to.bias}});
  write(plane_sums(mul(dv, convolved)), to.scale);
  const Tensor dwindow = mul(dv, scale);
  conv_backward_weight(windows.args, windows.u, dwindow, to.kernel.alias(windows.kernel.shape()));
  Tensor du = Tensor::empty_like(windows.u);
  conv_backward_data(windows.args, windows.kernel, dwindow, du);
  if (to.adds) du = add(du, wide(to.u));
  write(du, to.u);
  if (to.w.defined()) scaled_sum_backward(args.x, as(du, args.x.dtype()), to.w);
  if (!to.x.defined()) return;
  const Tensor through = mul(du, by_plane(args.w, du));
  write(of.add_x ? add(through, dy) : through, to.x);
}

}  // namespace fovea
