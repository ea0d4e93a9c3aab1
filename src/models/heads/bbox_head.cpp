#include "models/heads/bbox_head.h"

#include <fmt/format.h>

#include "models/heads/head_start.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {

BBoxHead::BBoxHead(const nn::Build& build, const BBoxHeadOptions& o) {
  std::int64_t channels = o.in_channels;
  for (std::int64_t i = 0; i < o.num_shared_convs; ++i) {
    const std::string name = fmt::format("shared_convs.{}.conv", i);
    nn::Conv2d& conv = child<nn::Conv2d>(name, build, channels, o.conv_channels, ops::Sizes{3},
                                         ops::ConvOptions{.padding = {1}}, false);
    start_kaiming(conv, build.at(name));
    shared_convs_.push_back({conv, child<nn::BatchNorm2d>(fmt::format("shared_convs.{}.bn", i),
                                                          build, o.conv_channels)});
    channels = o.conv_channels;
  }
  nn::Build xavier = build;
  xavier.init = nn::Init::kXavier;
  std::int64_t width = channels * o.side * o.side;
  for (std::int64_t i = 0; i < o.num_shared_fcs; ++i) {
    shared_fcs_.push_back(
        &child<nn::Linear>(fmt::format("shared_fcs.{}", i), xavier, width, o.fc_channels));
    width = o.fc_channels;
  }
  fc_cls_ = &child<nn::Linear>("fc_cls", build, width, o.num_classes + 1);
  fc_reg_ = &child<nn::Linear>("fc_reg", build, width, 4 * o.num_classes);
  start_normal(*fc_cls_, build.at("fc_cls"), 0.01);
  start_normal(*fc_reg_, build.at("fc_reg"), 0.001);
}

BBoxHead::Outputs BBoxHead::operator()(const Tensor& regions) {
  const auto scope = enter();
  Tensor x = regions;
  for (const auto& [conv, bn] : shared_convs_) x = bn.with_relu(conv(x));
  x = ops::reshape(x, {x.size(0), x.size(1) * x.size(2) * x.size(3)});
  for (nn::Linear* fc : shared_fcs_) x = ops::activate({.kind = UnaryOp::kRelu}, (*fc)(x));
  const DType wide = compute_dtype(x.dtype());
  return {ops::cast((*fc_cls_)(x), wide), ops::cast((*fc_reg_)(x), wide)};
}

}  // namespace fovea::models
