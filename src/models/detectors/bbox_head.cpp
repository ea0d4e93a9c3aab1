#include "models/detectors/bbox_head.h"

#include <fmt/format.h>

#include "models/heads/head_start.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {

BBoxHead::BBoxHead(const nn::Build& build, const BBoxHeadOptions& o) {
  std::int64_t channels = o.in_channels;
  for (std::int64_t i = 0; i < o.num_shared_convs; ++i) {
    shared_convs_.push_back(&child<ConvModule>(fmt::format("shared_convs.{}", i), build, channels,
                                               o.conv_channels, std::int64_t{3}));
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
  nn::Build last = build;
  last.init = nn::Init::kHead;
  fc_cls_ = &child<nn::Linear>("fc_cls", last, width, o.num_classes + 1);
  fc_reg_ = &child<nn::Linear>("fc_reg", last, width, 4 * o.num_classes);
  start_normal(*fc_reg_, build.at("fc_reg"), 0.001);
}

BBoxHead::Outputs BBoxHead::operator()(const Tensor& regions) {
  const auto scope = enter();
  Tensor x = regions;
  for (ConvModule* conv : shared_convs_) x = (*conv)(x);
  x = ops::reshape(x, {x.size(0), x.size(1) * x.size(2) * x.size(3)});
  for (nn::Linear* fc : shared_fcs_) x = ops::activate({.kind = UnaryOp::kRelu}, (*fc)(x));
  const DType wide = compute_dtype(x.dtype());
  return {ops::cast((*fc_cls_)(x), wide), ops::cast((*fc_reg_)(x), wide)};
}

}  // namespace fovea::models
