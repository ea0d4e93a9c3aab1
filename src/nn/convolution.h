// Convolution layers.
#pragma once

#include "nn/module.h"
#include "ops/convolution.h"

namespace fovea::nn {

/// x (b, in, h, w) -> (b, out, h', w'), PyTorch's Conv2d with zero padding. `kernel` has one number
/// for both axes or two. Parameters: weight (out, in / groups, kernel...), bias (out).
/// Throws ShapeError unless groups divides in and out.
class Conv2d final : public UnaryModule {
 public:
  Conv2d(const Build& build, std::int64_t in, std::int64_t out, const ops::Sizes& kernel,
         const ops::ConvOptions& options = {}, bool bias = true);
  std::string type() const override { return "Conv2d"; }
  const Tensor& weight() const { return weight_; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  Tensor bias_;
  ops::ConvOptions options_;
};

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

/// x (b, in, h, w) -> (b, out, h', w'), PyTorch's ConvTranspose2d. Parameters: weight (in,
/// out / groups, kernel...), bias (out). Throws ShapeError unless groups divides in and out.
class ConvTranspose2d final : public UnaryModule {
 public:
  ConvTranspose2d(const Build& build, std::int64_t in, std::int64_t out, const ops::Sizes& kernel,
                  const ops::ConvOptions& options = {}, bool bias = true);
  std::string type() const override { return "ConvTranspose2d"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_;
  Tensor bias_;
  ops::ConvOptions options_;
};

}  // namespace fovea::nn
