// A ResNet without head as the encoder of a U-Net. kcla 3.5.
#pragma once

#include <memory>
#include <optional>

#include "models/backbone.h"
#include "models/residual_block.h"
#include "schema/fields.h"

namespace fovea::models {

/// What the encoder is made of. Everything about it is decided here; the networks around it only
/// see a Backbone.
struct ResNetBackboneOptions {
  BlockKind block = BlockKind::kBasic;
  std::int64_t stem_width = 16;
  std::vector<std::int64_t> depths = {2, 2, 2, 2};
  std::vector<std::int64_t> planes = {32, 64, 128, 128};
  std::vector<std::int64_t> strides = {2, 2, 2, 1};
  nn::Init init = nn::Init::kKaiming;
  bool zero_init_last = false;
  std::optional<schema::Component> layer_attention;
};
schema::Fields<ResNetBackboneOptions> resnet_backbone_fields();

/// Levels: the stem (7x7 convolution of stride 1, BN, ReLU; no pooling), then the end of every
/// stage. Names: conv1, bn1, layer<s>.layers.<i>, s from 1, those of the paper's public encoder;
/// those of attentions as the variant says. Throws ConfigError unless there is a number for every
/// stage.
std::unique_ptr<Backbone> make_resnet_backbone(const nn::Build& build,
                                               const ResNetBackboneOptions& options,
                                               std::int64_t in_chans);

}  // namespace fovea::models
