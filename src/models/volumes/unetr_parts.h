// The parts of UNETR beside its ViT: blocks of convolutions. dformer 4.3.
#pragma once

#include <optional>
#include <vector>

#include "nn/convolution.h"

namespace fovea::models {

/// MONAI's residual block: 3x3x3 convolution, instance norm, leaky ReLU, 3x3x3 convolution,
/// instance norm; plus the input, by a 1x1x1 convolution and an instance norm where the channels
/// differ; leaky ReLU. Or without the sum (`residual` false). Names: conv{1,2,3}.conv.
class VolumeResBlock final : public nn::UnaryModule {
 public:
  VolumeResBlock(const nn::Build& build, std::int64_t in, std::int64_t out, bool residual);
  std::string type() const override { return "VolumeResBlock"; }

 protected:
  Tensor forward(const Tensor& x) override;
  // Some versions of MONAI make the 1x1x1 convolution and its norm also where they are not used.
  bool keeps_unused(const std::string& name) const override {
    return name.starts_with("norm3.") || (conv3_ == nullptr && name.starts_with("conv3."));
  }

 private:
  bool residual_;
  nn::Conv3d& conv1_;
  nn::Conv3d& conv2_;
  nn::Conv3d* conv3_ = nullptr;
};

/// Twice the size: a transposed 2x2x2 convolution, stride 2, without bias. Name: conv.
class VolumeDoubled final : public nn::UnaryModule {
 public:
  VolumeDoubled(const nn::Build& build, std::int64_t in, std::int64_t out)
      : conv_(child<nn::ConvTranspose3d>("conv", build, in, out, ops::Sizes{2},
                                         ops::ConvOptions{.stride = {2}}, false)) {}
  std::string type() const override { return "VolumeDoubled"; }

 protected:
  Tensor forward(const Tensor& x) override { return conv_(x); }

 private:
  nn::ConvTranspose3d& conv_;
};

struct UnetrBlocks {
  bool conv_block = true;  // a block of convolutions behind each doubling of a hidden state
  bool res_block = true;   // blocks have a residual sum
};

/// From a hidden state of the ViT to a skip connection: doubled once, and `more` times again.
/// Names: transp_conv_init, blocks.K.0 and blocks.K.1, or blocks.K without blocks of convolutions.
class HiddenUp final : public nn::UnaryModule {
 public:
  HiddenUp(const nn::Build& build, std::int64_t in, std::int64_t out, int more,
           const UnetrBlocks& options);
  std::string type() const override { return "HiddenUp"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  std::vector<nn::UnaryModule*> steps_;
};

/// [doubled x, skip] through a block. Names: transp_conv, conv_block.
class VolumeUp final : public nn::Module {
 public:
  VolumeUp(const nn::Build& build, std::int64_t in, std::int64_t out, const UnetrBlocks& options);
  std::string type() const override { return "VolumeUp"; }
  Tensor operator()(const Tensor& x, const Tensor& skip);

 private:
  VolumeDoubled& transp_conv_;
  VolumeResBlock& conv_block_;
};

}  // namespace fovea::models
