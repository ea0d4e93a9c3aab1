// Parts of U-Nets. kcla 3.5.
#pragma once

#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::models {

/// Twice 3x3 convolution, BN, ReLU: (b, in, h, w) -> (b, out, h, w). Names:
/// double_conv.{0, 1, 3, 4}.
class DoubleConv final : public nn::UnaryModule {
 public:
  /// `middle`: channels between the two convolutions; 0 = out.
  DoubleConv(const nn::Build& build, std::int64_t in, std::int64_t out, bool bias = true,
             std::int64_t middle = 0);
  std::string type() const override { return "DoubleConv"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  nn::Conv2d& conv1_;
  nn::BatchNorm2d& bn1_;
  nn::Conv2d& conv2_;
  nn::BatchNorm2d& bn2_;
};

/// Twice the size of x, bilinear with aligned corners.
Tensor doubled(const Tensor& x);
/// x padded with zeros, or cropped, around its centre to the size of skip; of an odd difference the
/// larger part is at the end.
Tensor fitted(const Tensor& x, const Tensor& skip);
/// [skip, fitted x] along the channels.
Tensor with_skip(const Tensor& skip, const Tensor& x);

/// doubled(x), with_skip, DoubleConv (name "conv").
class Up final : public nn::Module {
 public:
  Up(const nn::Build& build, std::int64_t in, std::int64_t out);
  std::string type() const override { return "Up"; }
  Tensor operator()(const Tensor& x, const Tensor& skip);

 private:
  DoubleConv& conv_;
};

}  // namespace fovea::models
