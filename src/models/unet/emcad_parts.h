// Parts of the EMCAD decoder (Rahman et al., "EMCAD", 2024). gdla 3.3; names of its public code.
#pragma once

#include <vector>

#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::models {

/// The factor of each channel, sigmoid(fc2(relu(fc1(mean))) + fc2(relu(fc1(max)))) over all places:
/// (b, c, h, w) -> (b, c, 1, 1). Hidden width c / 16, at least 1. Names: fc1, fc2.
class ChannelAttention final : public nn::UnaryModule {
 public:
  ChannelAttention(const nn::Build& build, std::int64_t channels, std::int64_t ratio = 16);
  std::string type() const override { return "ChannelAttention"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  nn::Conv2d& fc1_;
  nn::Conv2d& fc2_;
};

/// sigmoid(conv([mean, max])) over the channels: (b, c, h, w) -> (b, 1, h, w). Name: conv.
class SpatialAttention final : public nn::UnaryModule {
 public:
  explicit SpatialAttention(const nn::Build& build, std::int64_t kernel = 7);
  std::string type() const override { return "SpatialAttention"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  nn::Conv2d& conv_;
};

enum class EmcadActivation { kRelu, kRelu6 };

struct MultiScaleOptions {
  std::vector<std::int64_t> kernels = {1, 3, 5};
  std::int64_t expansion = 2;
  bool parallel = true;  // else each branch sees x and all results before it
  bool add = true;       // else branches are concatenated
  EmcadActivation activation = EmcadActivation::kRelu6;
};

/// Inverted bottleneck with depthwise convolutions of several sizes side by side: (b, in, h, w) ->
/// (b, out, h, w). Names: pconv1.{0, 1}, msdc.dwconvs.<i>.{0, 1}, pconv2.{0, 1}, conv1x1.
class MultiScaleConv final : public nn::UnaryModule {
 public:
  MultiScaleConv(const nn::Build& build, std::int64_t in, std::int64_t out,
                 const MultiScaleOptions& options = {});
  std::string type() const override { return "MultiScaleConv"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  struct Normed {
    nn::Conv2d* conv;
    nn::BatchNorm2d* norm;
  };
  Normed add_conv(const std::string& name, const nn::Build& build, std::int64_t in,
                  std::int64_t out, std::int64_t kernel, bool depthwise);
  Tensor activated(const Normed& layer, const Tensor& x) const;

  MultiScaleOptions o_;
  std::int64_t out_;
  Normed expand_;
  std::vector<Normed> branches_;
  Normed project_;
  nn::Conv2d* shortcut_ = nullptr;
};

/// Nearest neighbours, depthwise 3x3 convolution, batch norm, ReLU and a 1x1 convolution:
/// (b, in, h, w) -> (b, out, 2 h, 2 w). Names: up_dwc.{1, 2}, pwc.0.
class UpConv final : public nn::UnaryModule {
 public:
  UpConv(const nn::Build& build, std::int64_t in, std::int64_t out);
  std::string type() const override { return "UpConv"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  nn::Conv2d& dwc_;
  nn::BatchNorm2d& norm_;
  nn::Conv2d& pwc_;
};

}  // namespace fovea::models
