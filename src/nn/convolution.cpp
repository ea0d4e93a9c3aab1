#include "nn/convolution.h"

#include <fmt/format.h>

#include "base/error.h"
#include "nn/init.h"
#include "ops/conv/spatial.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace fovea::nn {
namespace {

void check_groups(const char* name, std::int64_t in, std::int64_t out, std::int64_t groups) {
  FOVEA_CHECK(
      groups >= 1 && in % groups == 0 && out % groups == 0, ShapeError,
      fmt::format("{}: {} -> {} channels are not divisible by groups {}", name, in, out, groups));
}

// (first, second / groups, kernel...)
Shape weight_shape(const char* name, int axes, std::int64_t first, std::int64_t second,
                   const ops::Sizes& kernel, std::int64_t groups) {
  Shape shape{first, second / groups};
  for (const std::int64_t side : ops::per_axis(name, "kernel", kernel, axes, 1))
    shape.push_back(side);
  return shape;
}

// (first, ...) -> (times first, ...)
Tensor repeated(const Tensor& x, std::int64_t times) {
  return times == 1 || !x.defined()
             ? x
             : ops::concat(std::vector<Tensor>(static_cast<std::size_t>(times), x), 0);
}
std::int64_t fan_in_of(const Shape& weight) { return weight.part(1, weight.rank()).numel(); }

}  // namespace

template <int kAxes>
Conv<kAxes>::Conv(const Build& build, std::int64_t in, std::int64_t out, const ops::Sizes& kernel,
                  const ops::ConvOptions& options, bool bias)
    : options_(options) {
  const char* name = kAxes == 2 ? "Conv2d" : "Conv3d";
  check_groups(name, in, out, options.groups);
  const Shape shape = weight_shape(name, kAxes, out, in, kernel, options.groups);
  weight_ = parameter("weight", init_conv_weight(build.at("weight"), shape, options.groups));
  if (bias) bias_ = parameter("bias", init_bias(build.at("bias"), out, fan_in_of(shape)));
}

template <int kAxes>
Tensor Conv<kAxes>::forward(const Tensor& x) {
  return ops::conv(x, weight_, bias_, options_);
}

template class Conv<2>;
template class Conv<3>;

TokenConv2d::TokenConv2d(const Build& build, std::int64_t channels, std::int64_t kernel, bool bias,
                         std::int64_t repeats)
    : weight_(parameter(
          "weight", init_conv_weight(build.at("weight"), {channels, 1, kernel, kernel}, channels))),
      repeats_(repeats) {
  if (bias) bias_ = parameter("bias", init_bias(build.at("bias"), channels, kernel * kernel));
}

Tensor TokenConv2d::operator()(const Tensor& x, std::int64_t h, std::int64_t w) {
  const auto scope = enter();
  return ops::token_conv(x, repeated(weight_, repeats_), repeated(bias_, repeats_), h, w);
}

Tensor TokenConv2d::with_residual(const Tensor& x, std::int64_t h, std::int64_t w) {
  const auto scope = enter();
  return ops::token_conv(x, repeated(weight_, repeats_), repeated(bias_, repeats_), h, w, true);
}

ResidualTokenConv3d::ResidualTokenConv3d(const Build& build, std::int64_t channels,
                                         std::int64_t kernel)
    : weight_(parameter(
          "weight",
          init_conv_weight(build.at("weight"), {channels, 1, kernel, kernel, kernel}, channels))),
      bias_(parameter("bias", init_bias(build.at("bias"), channels, kernel * kernel * kernel))) {}

Tensor ResidualTokenConv3d::operator()(const Tensor& x, const ops::Sizes& grid) {
  const auto scope = enter();
  return ops::token_conv(x, weight_, bias_, grid, true);
}

TokenPointwise::TokenPointwise(const Build& build, std::int64_t in, std::int64_t out, bool bias,
                               std::int64_t groups)
    : groups_(groups) {
  check_groups("TokenPointwise", in, out, groups);
  weight_ =
      parameter("weight", init_conv_weight(build.at("weight"), {out, in / groups, 1, 1}, groups));
  if (bias) bias_ = parameter("bias", init_bias(build.at("bias"), out, in / groups));
}

Tensor TokenPointwise::forward(const Tensor& x) {
  const std::int64_t out = weight_.size(0);
  const std::int64_t in = weight_.size(1);
  const Tensor weight = ops::reshape(weight_, {out, in});
  if (groups_ == 1) return ops::linear(x, weight, bias_);
  std::vector<Tensor> parts;
  const std::int64_t each = out / groups_;
  for (std::int64_t group = 0; group < groups_; ++group) {
    const Tensor bias = bias_.defined() ? ops::slice(bias_, 0, group * each, each) : Tensor();
    parts.push_back(ops::linear(ops::slice(x, -1, group * in, in),
                                ops::slice(weight, 0, group * each, each), bias));
  }
  return ops::concat(parts, -1);
}

template <int kAxes>
ConvTranspose<kAxes>::ConvTranspose(const Build& build, std::int64_t in, std::int64_t out,
                                    const ops::Sizes& kernel, const ops::ConvOptions& options,
                                    bool bias)
    : options_(options) {
  const char* name = kAxes == 2 ? "ConvTranspose2d" : "ConvTranspose3d";
  check_groups(name, in, out, options.groups);
  // The fan-in of PyTorch's initial values follows from the shape, not from the role of its axes.
  const Shape shape = weight_shape(name, kAxes, in, out, kernel, options.groups);
  weight_ = parameter("weight", init_conv_weight(build.at("weight"), shape));
  if (bias) bias_ = parameter("bias", init_bias(build.at("bias"), out, fan_in_of(shape)));
}

template <int kAxes>
Tensor ConvTranspose<kAxes>::forward(const Tensor& x) {
  return ops::conv_transpose(x, weight_, bias_, options_);
}

template class ConvTranspose<2>;
template class ConvTranspose<3>;

}  // namespace fovea::nn
