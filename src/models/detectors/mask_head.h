// The mask of a region of interest, one of each class. mala 4.5; mmdet's FCNMaskHead and its names.
#pragma once

#include <vector>

#include "nn/convolution.h"

namespace fovea::models {

struct MaskHeadOptions {
  std::int64_t in_channels = 256;
  std::int64_t num_classes = 80;
  std::int64_t num_convs = 4;
  std::int64_t conv_channels = 256;
};

/// Regions (n, in, side, side) -> logits (n, num_classes, 2 side, 2 side), in the type of losses,
/// also in mixed precision. Names: convs.{i}.conv, upsample, conv_logits.
class MaskHead final : public nn::Module {
 public:
  MaskHead(const nn::Build& build, const MaskHeadOptions& options);
  std::string type() const override { return "FCNMaskHead"; }
  Tensor operator()(const Tensor& regions);

 private:
  std::vector<nn::Conv2d*> convs_;
  nn::ConvTranspose2d* upsample_ = nullptr;
  nn::Conv2d* conv_logits_ = nullptr;
};

}  // namespace fovea::models
