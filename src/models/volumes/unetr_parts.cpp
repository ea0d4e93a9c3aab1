#include "models/volumes/unetr_parts.h"

#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

// Of every channel of an item, without parameters.
Tensor instance_norm(const Tensor& x) { return ops::group_norm(x, x.size(1), {}, {}, 1e-5); }

}  // namespace

VolumeResBlock::VolumeResBlock(const nn::Build& build, std::int64_t in, std::int64_t out,
                               bool residual)
    : residual_(residual),
      conv1_(child<nn::Conv3d>("conv1.conv", build, in, out, ops::Sizes{3},
                               ops::ConvOptions{.padding = {1}}, false)),
      conv2_(child<nn::Conv3d>("conv2.conv", build, out, out, ops::Sizes{3},
                               ops::ConvOptions{.padding = {1}}, false)) {
  if (residual && in != out)
    conv3_ =
        &child<nn::Conv3d>("conv3.conv", build, in, out, ops::Sizes{1}, ops::ConvOptions{}, false);
}

Tensor VolumeResBlock::forward(const Tensor& x) {
  const Tensor y = instance_norm(conv2_(ops::leaky_relu(instance_norm(conv1_(x)))));
  if (!residual_) return ops::leaky_relu(y);
  return ops::leaky_relu(ops::add(y, conv3_ != nullptr ? instance_norm((*conv3_)(x)) : x));
}

HiddenUp::HiddenUp(const nn::Build& build, std::int64_t in, std::int64_t out, int more,
                   const UnetrBlocks& o) {
  steps_.push_back(&child<VolumeDoubled>("transp_conv_init", build, in, out));
  for (int k = 0; k < more; ++k) {
    const std::string name = fmt::format("blocks.{}", k);
    steps_.push_back(&child<VolumeDoubled>(o.conv_block ? name + ".0" : name, build, out, out));
    if (o.conv_block)
      steps_.push_back(&child<VolumeResBlock>(name + ".1", build, out, out, o.res_block));
  }
}

Tensor HiddenUp::forward(const Tensor& x) {
  Tensor y = x;
  for (nn::UnaryModule* step : steps_) y = (*step)(y);
  return y;
}

VolumeUp::VolumeUp(const nn::Build& build, std::int64_t in, std::int64_t out, const UnetrBlocks& o)
    : transp_conv_(child<VolumeDoubled>("transp_conv", build, in, out)),
      conv_block_(child<VolumeResBlock>("conv_block", build, 2 * out, out, o.res_block)) {}

Tensor VolumeUp::operator()(const Tensor& x, const Tensor& skip) {
  const auto scope = enter();
  return conv_block_(ops::concat({transp_conv_(x), skip}, 1));
}

}  // namespace fovea::models
