#include "models/unet/unet_parts.h"

#include "ops/shape.h"

namespace fovea::models {
namespace {

// Half of a difference, rounded down, also below zero.
std::int64_t half(std::int64_t difference) {
  return difference >= 0 ? difference / 2 : -((1 - difference) / 2);
}

}  // namespace

DoubleConv::DoubleConv(const nn::Build& build, std::int64_t in, std::int64_t out, bool bias,
                       std::int64_t middle)
    : conv1_(child<nn::Conv2d>("double_conv.0", build, in, middle > 0 ? middle : out, ops::Sizes{3},
                               ops::ConvOptions{.padding = {1}}, bias)),
      bn1_(child<nn::BatchNorm2d>("double_conv.1", build, middle > 0 ? middle : out)),
      conv2_(child<nn::Conv2d>("double_conv.3", build, middle > 0 ? middle : out, out,
                               ops::Sizes{3}, ops::ConvOptions{.padding = {1}}, bias)),
      bn2_(child<nn::BatchNorm2d>("double_conv.4", build, out)) {}

Tensor DoubleConv::forward(const Tensor& x) {
  const Tensor y = bn1_.with_relu(conv1_(x));
  return bn2_.with_relu(conv2_(y));
}

Tensor doubled(const Tensor& x) {
  return ops::resize(x, {2 * x.size(2), 2 * x.size(3)}, ops::Interpolation::kLinear, true);
}

Tensor fitted(const Tensor& x, const Tensor& skip) {
  const std::int64_t down = skip.size(2) - x.size(2);
  const std::int64_t right = skip.size(3) - x.size(3);
  if (down == 0 && right == 0) return x;
  return ops::pad(
      x, {{0, 0}, {0, 0}, {half(down), down - half(down)}, {half(right), right - half(right)}});
}

Tensor with_skip(const Tensor& skip, const Tensor& x) {
  return ops::concat({skip, fitted(x, skip)}, 1);
}

Up::Up(const nn::Build& build, std::int64_t in, std::int64_t out)
    : conv_(child<DoubleConv>("conv", build, in, out)) {}

Tensor Up::operator()(const Tensor& x, const Tensor& skip) {
  const auto scope = enter();
  return conv_(with_skip(skip, doubled(x)));
}

}  // namespace fovea::models
