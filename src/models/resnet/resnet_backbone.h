// ResNets without their head: what classifiers and pyramids share. kcla 3.1, 3.3, 3.5.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "models/backbone.h"
#include "models/resnet/residual_stage.h"

namespace fovea::models {

/// The layers before the first stage. They also determine whose public code the names of blocks and
/// the defaults of layer attentions follow (layer_attention::Family).
enum class ResNetStem {
  kConv3x3,      // stride 1: small images
  kConv7x7,      // stride 1: segmentation
  kConv7x7Pool,  // stride 2, and 3x3 max pooling of stride 2: ImageNet
  kDeepPool,     // three of 3x3, the first of stride 2, and the same pooling: ImageNet
};

struct ResNetOptions {
  BlockKind block = BlockKind::kBottleneck;
  std::vector<std::int64_t> depths;
  std::vector<std::int64_t> planes;
  std::optional<std::vector<std::int64_t>> strides;
  ResNetStem stem = ResNetStem::kConv7x7Pool;
  std::optional<std::int64_t> stem_width;
  std::optional<std::int64_t> deep_stem_width;
  ShortcutKind shortcut = ShortcutKind::kProjection;
  nn::Init init = nn::Init::kKaiming;
  bool zero_init_last = false;
  std::optional<schema::Component> layer_attention;
};
schema::Fields<ResNetOptions> resnet_fields(const ResNetOptions& defaults);

/// Options of the ImageNet networks, with bottleneck or basic blocks; their last batch norms start
/// at 0.
ResNetOptions imagenet_resnet(BlockKind block, std::vector<std::int64_t> depths);

/// Stem and stages. Levels: the end of every stage, and before these the stem where that is a
/// 7x7 convolution of stride 1. Names are torchvision's (conv1, bn1, layer<s>.<i>) but for layer
/// attentions that change them, and those of the paper's public code behind the segmentation stem
/// (layer<s>.layers.<i>).
class ResNetBackbone final : public Backbone {
 public:
  static constexpr std::array<const char*, 1> kHead = {"fc.*"};

  /// `place` is where the options stand, for messages. Throws ConfigError unless they have a number
  /// for every stage and fit together.
  ResNetBackbone(const nn::Build& build, const ResNetOptions& options, std::int64_t in_chans,
                 const char* place = "model.backbone");
  std::string type() const override { return "ResNetBackbone"; }
  /// The last level alone; the others are freed as soon as they have been read.
  Tensor last_level(const Tensor& image, attention::Probe* probe);

 protected:
  std::vector<Tensor> forward(const Tensor& image, attention::Probe* probe) override;
  std::vector<std::string> parts_of(std::int64_t stage) const override;
  // The encoder of KCLA-UNet has a second batch norm that nothing uses (kcla 3.5).
  bool keeps_unused(const std::string& name) const override {
    return o_.stem == ResNetStem::kConv7x7 && name.starts_with("bn2.");
  }

 private:
  nn::UnaryModule& add_stem(const nn::Build& build, std::int64_t in, std::int64_t out);
  // Appends the levels to `levels` where it is not null.
  Tensor run(const Tensor& image, attention::Probe* probe, std::vector<Tensor>* levels);

  ResNetOptions o_;
  DType activations_ = DType::kFloat32;
  nn::UnaryModule* conv1_ = nullptr;
  nn::BatchNorm2d* bn1_ = nullptr;
  std::vector<ResidualStage*> stages_;
  std::vector<std::string> stage_names_;
};

}  // namespace fovea::models
