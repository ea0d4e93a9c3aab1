// Additive attention gates on skip connections (Oktay et al., Attention U-Net). gdla 3.3, 3.4.
#pragma once

#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::models {

struct AttentionGateOptions {
  std::int64_t channels = 0;  // of gate and skip
  std::int64_t hidden = 1;
  std::int64_t kernel = 1;  // of the convolutions of gate and skip, in `groups`
  std::int64_t groups = 1;
};

/// x psi, psi = sigmoid(BN(conv1x1(relu(BN(conv(g)) + BN(conv(x)))))), one number a pixel. g and x:
/// (b, channels, h, w). Names: W_g.{0, 1}, W_x.{0, 1}, psi.{0, 1}.
class AttentionGate final : public nn::Module {
 public:
  AttentionGate(const nn::Build& build, const AttentionGateOptions& options);
  std::string type() const override { return "AttentionGate"; }
  Tensor operator()(const Tensor& g, const Tensor& x);

 private:
  nn::Conv2d& conv_g_;
  nn::BatchNorm2d& norm_g_;
  nn::Conv2d& conv_x_;
  nn::BatchNorm2d& norm_x_;
  nn::Conv2d& conv_psi_;
  nn::BatchNorm2d& norm_psi_;
};

}  // namespace fovea::models
