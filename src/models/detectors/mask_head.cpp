#include "models/detectors/mask_head.h"

#include <fmt/format.h>

#include "models/heads/head_start.h"
#include "ops/activation.h"
#include "ops/elementwise.h"

namespace fovea::models {

MaskHead::MaskHead(const nn::Build& build, const MaskHeadOptions& o) {
  std::int64_t channels = o.in_channels;
  for (std::int64_t i = 0; i < o.num_convs; ++i) {
    const std::string name = fmt::format("convs.{}.conv", i);
    convs_.push_back(&child<nn::Conv2d>(name, build, channels, o.conv_channels, ops::Sizes{3},
                                        ops::ConvOptions{.padding = {1}}));
    start_kaiming(*convs_.back(), build.at(name));
    channels = o.conv_channels;
  }
  upsample_ = &child<nn::ConvTranspose2d>("upsample", build, channels, o.conv_channels,
                                          ops::Sizes{2}, ops::ConvOptions{.stride = {2}});
  conv_logits_ =
      &child<nn::Conv2d>("conv_logits", build, o.conv_channels, o.num_classes, ops::Sizes{1});
  start_kaiming(*upsample_, build.at("upsample"));
  start_kaiming(*conv_logits_, build.at("conv_logits"));
}

Tensor MaskHead::operator()(const Tensor& regions) {
  const auto scope = enter();
  Tensor x = regions;
  for (nn::Conv2d* conv : convs_) x = ops::activate({.kind = UnaryOp::kRelu}, (*conv)(x));
  x = (*conv_logits_)(ops::activate({.kind = UnaryOp::kRelu}, (*upsample_)(x)));
  return ops::cast(x, compute_dtype(x.dtype()));
}

}  // namespace fovea::models
