#include "nn/convolution.h"

#include <fmt/format.h>

#include "base/error.h"
#include "nn/init.h"
#include "ops/spatial.h"

namespace fovea::nn {
namespace {

Shape weight_shape(std::int64_t in, std::int64_t out, const ops::Sizes& kernel,
                   std::int64_t groups) {
  FOVEA_CHECK(
      groups >= 1 && in % groups == 0 && out % groups == 0, ShapeError,
      fmt::format("Conv2d: {} -> {} channels are not divisible by groups {}", in, out, groups));
  const ops::Sizes sides = ops::per_axis("Conv2d", "kernel", kernel, 2, 1);
  return {out, in / groups, sides[0], sides[1]};
}

}  // namespace

Conv2d::Conv2d(const Build& build, std::int64_t in, std::int64_t out, const ops::Sizes& kernel,
               const ops::ConvOptions& options, bool bias)
    : options_(options) {
  const Shape shape = weight_shape(in, out, kernel, options.groups);
  weight_ = parameter("weight", init_conv_weight(build.at("weight"), shape));
  if (bias) {
    const std::int64_t fan_in = shape[1] * shape[2] * shape[3];
    bias_ = parameter("bias", init_bias(build.at("bias"), out, fan_in));
  }
}

Tensor Conv2d::forward(const Tensor& x) { return ops::conv(x, weight_, bias_, options_); }

TokenConv2d::TokenConv2d(const Build& build, std::int64_t channels, std::int64_t kernel)
    : weight_(
          parameter("weight", init_conv_weight(build.at("weight"), {channels, 1, kernel, kernel}))),
      bias_(parameter("bias", init_bias(build.at("bias"), channels, kernel * kernel))) {}

Tensor TokenConv2d::operator()(const Tensor& x, std::int64_t h, std::int64_t w) {
  const auto scope = enter();
  return ops::token_conv(x, weight_, bias_, h, w);
}

}  // namespace fovea::nn
