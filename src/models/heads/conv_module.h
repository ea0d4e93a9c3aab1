// The convolution of mmdet's and mmseg's heads: no bias, batch norm, ReLU.
#pragma once

#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::models {

/// ReLU(norm(conv(x))): (b, in, h, w) -> (b, out, h, w), with an odd kernel and zeros around the
/// map. The convolution starts as normal(0, sqrt(2 / fan_out)). Names: conv, bn. mala 4.4.
class ConvModule final : public nn::UnaryModule {
 public:
  ConvModule(const nn::Build& build, std::int64_t in, std::int64_t out, std::int64_t kernel);
  std::string type() const override { return "ConvModule"; }

 protected:
  Tensor forward(const Tensor& x) override { return bn_.with_relu(conv_(x)); }

 private:
  nn::Conv2d& conv_;
  nn::BatchNorm2d& bn_;
};

}  // namespace fovea::models
