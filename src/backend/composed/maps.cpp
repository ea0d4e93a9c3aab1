// Default bodies: norms of channels, convolutions with a norm before or a residual behind them.
#include "backend/composed/composed.h"

namespace fovea {

using namespace composed;

namespace {

// A map (b, c, spatial...) as (b, groups, channels of a group, places), and the shapes of its
// statistics and parameters: batch norm (groups = 0) has groups of one channel.
struct Grouped {
  Shape map, statistics, per_channel;

  Grouped(const Tensor& x, std::int64_t groups) {
    const std::int64_t sets = groups == 0 ? x.size(1) : groups;
    const std::int64_t channels = x.size(1) / sets;
    map = {x.size(0), sets, channels, x.shape().part(2, x.rank()).numel()};
    statistics = {groups == 0 ? 1 : x.size(0), sets, 1, 1};
    per_channel = {1, sets, channels, 1};
  }
};

// norm(x) before the residual, and its parts.
struct Normed {
  Grouped as;
  Tensor rstd, values, scaled;

  explicit Normed(const NormedMap& of) : as(of.x, of.groups) {
    rstd = of.norm.rstd.alias(as.statistics);
    const Tensor x = wide(of.x).alias(as.map);
    values = mul(sub(x, of.norm.mean.alias(as.statistics)), rstd);
    scaled = weighted(values, of.norm.weight);
    if (of.norm.bias.defined()) scaled = add(scaled, of.norm.bias.alias(as.per_channel));
    if (of.residual.defined()) scaled = add(scaled, wide(of.residual).alias(as.map));
  }
  Tensor weighted(const Tensor& x, const Tensor& weight) const {
    return weight.defined() ? mul(x, weight.alias(as.per_channel)) : x;
  }
};

}  // namespace

void Backend::channel_norm_stats(const ChannelStatsArgs& args) const {
  const Grouped shapes(args.x, args.groups);
  const Tensor x = wide(args.x).alias(shapes.map);
  const Tensor mean = composed::reduce(ReduceOp::kMean, x, shapes.statistics);
  const Tensor squares = composed::unary(UnaryOp::kSquare, sub(x, mean));
  const Tensor variance = composed::reduce(ReduceOp::kMean, squares, shapes.statistics);
  write(mean, args.mean);
  write(composed::unary(UnaryOp::kRsqrt, affine(variance, 1, args.eps)), args.rstd);
}

void Backend::channel_norm(const NormedMap& of, const Tensor& y) const {
  const Tensor result = Normed(of).scaled;
  write(of.relu ? composed::unary(UnaryOp::kRelu, result) : result, y);
}

void Backend::channel_norm_backward(const ChannelNormBackwardArgs& args) const {
  const NormedMap& of = args.of;
  const ChannelNormGradients& to = args.to;
  const Normed norm(of);
  Tensor dz = wide(args.dy).alias(norm.as.map);
  if (of.relu) {
    const Tensor result = args.y.defined() ? wide(args.y).alias(norm.as.map) : norm.scaled;
    dz = composed::where(compare(BinaryOp::kGreater, result, 0), dz, 0.0);
  }
  if (to.weight.defined()) {
    write(composed::reduce(ReduceOp::kSum, mul(dz, norm.values), norm.as.per_channel), to.weight);
  }
  if (to.bias.defined()) write(composed::reduce(ReduceOp::kSum, dz, norm.as.per_channel), to.bias);
  Tensor dx;
  if (to.x.defined()) {
    const Tensor e = norm.weighted(dz, of.norm.weight);
    dx = of.fixed_stats ? mul(e, norm.rstd) : norm_gradient(norm.values, e, norm.rstd, true);
  }
  if (to.residual.defined()) write(dz, to.residual);
  if (to.x.defined()) write(dx, to.x);
}

void Backend::conv_norm_backward_weight(const ConvArgs& args, const NormedMap& x, const Tensor& dy,
                                        const Tensor& dweight) const {
  const Tensor made = Tensor::empty_like(x.x);
  channel_norm(x, made);
  conv_backward_weight(args, made, dy, dweight);
}

namespace {

// Zeros around the map keep its size.
ConvArgs depthwise(const Tensor& weight) {
  ConvArgs args{.stride = {}, .padding = {}, .dilation = {}, .groups = weight.size(0)};
  for (int axis = 2; axis < weight.rank(); ++axis) {
    args.stride.push_back(1);
    args.padding.push_back(weight.size(axis) / 2);
    args.dilation.push_back(1);
  }
  return args;
}

Tensor channels_first(const Tensor& x) {
  return permuted(x,
                  x.rank() == 5 ? std::vector<int>{0, 4, 1, 2, 3} : std::vector<int>{0, 3, 1, 2});
}
Tensor channels_last(const Tensor& x) {
  return permuted(x,
                  x.rank() == 5 ? std::vector<int>{0, 2, 3, 4, 1} : std::vector<int>{0, 2, 3, 1});
}
// y + x where the convolution has a residual.
Tensor with_residual(bool residual, const Tensor& y, const Tensor& x) {
  return residual ? add(wide(y), wide(x)) : y;
}

}  // namespace

void Backend::token_conv(const TokenConvArgs& args) const {
  const Tensor x = channels_first(args.x);
  const Tensor y = Tensor::empty_like(x);
  conv(depthwise(args.weight), x, args.weight, args.bias, y);
  write(with_residual(args.residual, channels_last(y), args.x), args.y);
}

void Backend::token_conv_backward(const TokenConvBackwardArgs& args) const {
  const ConvArgs sizes = depthwise(args.weight);
  const Tensor dy = channels_first(args.dy);
  if (args.dx.defined()) {
    const Tensor dx = Tensor::empty_like(dy);
    conv_backward_data(sizes, args.weight, dy, dx);
    write(with_residual(args.residual, channels_last(dx), args.dy), args.dx);
  }
  if (args.dweight.defined()) conv_backward_weight(sizes, channels_first(args.x), dy, args.dweight);
  if (args.dbias.defined())
    write(composed::reduce(ReduceOp::kSum, wide(dy).alias(Grouped(dy, 0).map),
                           Grouped(dy, 0).per_channel),
          args.dbias);
}

}  // namespace fovea
