// Heads that give every pixel a class, from the maps of a pyramid. mala 4.4; names are mmseg's.
// Maps are resized bilinearly, between the centres of pixels.
#pragma once

#include <vector>

#include "models/backbone.h"
#include "models/heads/conv_module.h"
#include "nn/dropout.h"

namespace fovea::models {

/// What all of them end in: channels are dropped in training, then a 1x1 convolution gives logits.
/// Name: conv_seg.
class SceneHead : public nn::Module {
 public:
  static constexpr double kDropout = 0.1;

 protected:
  SceneHead(const nn::Build& build, std::int64_t channels, std::int64_t num_classes);
  Tensor classify(const Tensor& x) { return conv_seg_(dropout_(x)); }

 private:
  nn::ChannelDropout& dropout_;
  nn::Conv2d& conv_seg_;
};

/// The head of SemanticFPN (Kirillov et al., 2019): convolutions bring every map to the finest
/// one's size, two times a step, and their sum is classified. Maps, the finest first ->
/// (b, num_classes, h, w) of the first one's size. Names: scale_heads.{i}.{2 k}.
class SegFpnHead final : public SceneHead {
 public:
  /// `in`: the maps; each stride is a power of 2 times the first. Throws ConfigError otherwise.
  SegFpnHead(const nn::Build& build, const std::vector<PyramidLevel>& in, std::int64_t channels,
             std::int64_t num_classes);
  std::string type() const override { return "FPNHead"; }
  Tensor operator()(const std::vector<Tensor>& maps);

 private:
  struct Scale {
    std::vector<ConvModule*> convs = {};
    bool enlarges = false;  // twice behind each convolution
  };
  std::vector<Scale> scales_;
};

struct UperHeadOptions {
  std::vector<std::int64_t> in_channels = {};  // of the maps, the finest first; two at least
  std::vector<std::int64_t> pool_scales = {1, 2, 3, 6};
  std::int64_t channels = 512;
  std::int64_t num_classes = 0;
};

/// The head of UperNet (Xiao et al., 2018): the coarsest map sees means over 1 x 1 to 6 x 6 parts
/// of itself (pyramid pooling), a feature pyramid hands it down, and all maps together are
/// classified. Maps -> (b, num_classes, h, w) of the first one's size. Names: psp_modules.{i}.1,
/// bottleneck, lateral_convs.{i}, fpn_convs.{i}, fpn_bottleneck.
class UperHead final : public SceneHead {
 public:
  UperHead(const nn::Build& build, const UperHeadOptions& options);
  std::string type() const override { return "UPerHead"; }
  Tensor operator()(const std::vector<Tensor>& maps);

 private:
  Tensor pooled(const Tensor& coarsest);

  std::vector<std::int64_t> pool_scales_;
  std::vector<ConvModule*> psp_modules_, lateral_convs_, fpn_convs_;
  ConvModule* bottleneck_ = nullptr;
  ConvModule* fpn_bottleneck_ = nullptr;
};

/// 3x3 convolutions: (b, in, h, w) -> (b, num_classes, h, w). Names: convs.{i}.
class FcnHead final : public SceneHead {
 public:
  FcnHead(const nn::Build& build, std::int64_t in, std::int64_t channels, std::int64_t num_convs,
          std::int64_t num_classes);
  std::string type() const override { return "FCNHead"; }
  Tensor operator()(const Tensor& map);

 private:
  std::vector<ConvModule*> convs_;
};

}  // namespace fovea::models
