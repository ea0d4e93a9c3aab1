// RetinaNet's head: classes and boxes of anchors by two towers of convolutions that all levels
// share. mala 4.5; names are mmdet's.
#pragma once

#include <vector>

#include "nn/convolution.h"

namespace fovea::models {

struct RetinaHeadOptions {
  std::int64_t in_channels = 256;
  std::int64_t feat_channels = 256;
  std::int64_t stacked_convs = 4;
  std::int64_t num_anchors = 9;  // of a cell
  std::int64_t num_classes = 80;
};

/// Levels (b, in, h, w) -> maps of logits (b, num_anchors * num_classes, h, w), one a level, and
/// behind these maps of deltas (b, 4 num_anchors, h, w). Names: cls_convs.{i}.conv,
/// reg_convs.{i}.conv, retina_cls, retina_reg.
class RetinaHead final : public nn::Module {
 public:
  RetinaHead(const nn::Build& build, const RetinaHeadOptions& options);
  std::string type() const override { return "RetinaHead"; }
  std::vector<Tensor> operator()(const std::vector<Tensor>& levels);

 private:
  std::vector<nn::Conv2d*> cls_convs_, reg_convs_;
  nn::Conv2d* retina_cls_ = nullptr;
  nn::Conv2d* retina_reg_ = nullptr;
};

}  // namespace fovea::models
