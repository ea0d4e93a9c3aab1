// Convolution layers.
#pragma once

#include "nn/module.h"
#include "ops/conv/convolution.h"

namespace fovea::nn {

/// x (b, in, spatial...) -> (b, out, spatial'...), PyTorch's Conv2d and Conv3d with zero padding.
/// `kernel` has one number for all axes or one for each. Parameters: weight (out, in / groups,
/// kernel...), bias (out). Throws ShapeError unless groups divides in and out.
template <int kAxes>
class Conv final : public UnaryModule {
 public:
  Conv(const Build& build, std::int64_t in, std::int64_t out, const ops::Sizes& kernel,
       const ops::ConvOptions& options = {}, bool bias = true);
  std::string type() const override { return kAxes == 2 ? "Conv2d" : "Conv3d"; }
  const Tensor& weight() const { return weight_; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  Tensor bias_;
  ops::ConvOptions options_;
};

using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

/// Depthwise convolution of tokens (b, h w, channels) on a grid, with zeros around it: as Conv2d
/// with groups = channels and padding kernel / 2, without bringing the channels to the front.
/// `kernel` is odd. With `repeats` > 1 tokens have as many times `channels` channels, and each run
/// of `channels` of them the same weights. Parameters: weight (channels, 1, kernel, kernel), bias
/// (channels).
class TokenConv2d final : public Module {
 public:
  TokenConv2d(const Build& build, std::int64_t channels, std::int64_t kernel, bool bias = true,
              std::int64_t repeats = 1);
  std::string type() const override { return "TokenConv2d"; }
  Tensor operator()(const Tensor& x, std::int64_t h, std::int64_t w);
  /// x plus its convolution.
  Tensor with_residual(const Tensor& x, std::int64_t h, std::int64_t w);

 private:
  Tensor weight_;
  Tensor bias_;
  std::int64_t repeats_;
};

/// The same on a grid (d, h, w), with what it is given added: x + convolution. Parameters: weight
/// (channels, 1, kernel, kernel, kernel), bias (channels).
class ResidualTokenConv3d final : public Module {
 public:
  ResidualTokenConv3d(const Build& build, std::int64_t channels, std::int64_t kernel);
  std::string type() const override { return "ResidualTokenConv3d"; }
  Tensor operator()(const Tensor& x, const ops::Sizes& grid);

 private:
  Tensor weight_;
  Tensor bias_;
};

/// 1x1 convolution of tokens (..., in) -> (..., out): as Conv2d with a kernel of 1, computed as
/// linear layers, one a group. Parameters: weight (out, in / groups, 1, 1), bias (out).
/// Throws ShapeError unless groups divides in and out.
class TokenPointwise final : public UnaryModule {
 public:
  TokenPointwise(const Build& build, std::int64_t in, std::int64_t out, bool bias = true,
                 std::int64_t groups = 1);
  std::string type() const override { return "TokenPointwise"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  Tensor bias_;
  std::int64_t groups_;
};

/// x (b, in, spatial...) -> (b, out, spatial'...), PyTorch's ConvTranspose2d and ConvTranspose3d.
/// Parameters: weight (in, out / groups, kernel...), bias (out). Throws ShapeError unless groups
/// divides in and out.
template <int kAxes>
class ConvTranspose final : public UnaryModule {
 public:
  ConvTranspose(const Build& build, std::int64_t in, std::int64_t out, const ops::Sizes& kernel,
                const ops::ConvOptions& options = {}, bool bias = true);
  std::string type() const override { return kAxes == 2 ? "ConvTranspose2d" : "ConvTranspose3d"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  Tensor bias_;
  ops::ConvOptions options_;
};

using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace fovea::nn
