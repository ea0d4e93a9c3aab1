// The parts of D-Former beside its blocks. Tokens are (b, n, c), channels last, row by row of a
// grid (d, h, w). dformer 3.1, 3.6 to 3.9, 3.12.
#pragma once

#include "models/volumes/volume_network.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/conv/patch_logits.h"

namespace fovea::models {

/// Tokens and the grid that they lie on.
struct TokenVolume {
  Tensor x;  // (b, d h w, c)
  Size3 grid{0, 0, 0};

  std::int64_t channels() const { return x.size(-1); }
  /// (b, d, h, w, c).
  Tensor as_grid() const;
  /// The reverse.
  static TokenVolume from_grid(const Tensor& volume);
};

/// The epsilon of every layer norm.
inline constexpr double kVolumeNormEps = 1e-5;

/// A convolution whose kernel is its stride, as a product, and a layer norm: (b, in, d, h, w) ->
/// tokens of the patches; zeros behind the end of an axis that patches do not divide. dformer 3.1.
/// Names: proj.weight (dim, in, patch...), proj.bias, norm.
class PatchEmbed3d final : public nn::Module {
 public:
  PatchEmbed3d(const nn::Build& build, const Size3& patch, std::int64_t in, std::int64_t dim,
               bool norm);
  std::string type() const override { return "PatchEmbed3d"; }
  TokenVolume operator()(const Tensor& volume);

 private:
  Size3 patch_;
  Tensor weight_, bias_;
  nn::LayerNorm* norm_ = nullptr;
};

/// Eight neighbours, as (0,0,0), (0,0,1), (0,1,0), ..., become one token: layer norm of 8 c
/// channels, linear to 2 c. Zeros behind the end of an odd axis. dformer 3.6. Names: norm,
/// reduction.weight.
class PatchMerging3d final : public nn::Module {
 public:
  PatchMerging3d(const nn::Build& build, std::int64_t dim);
  std::string type() const override { return "PatchMerging3d"; }
  TokenVolume operator()(const TokenVolume& tokens);

 private:
  nn::LayerNorm& norm_;
  nn::Linear& reduction_;
};

/// A token becomes eight of half the channels on a grid of twice the size: linear, layer norm.
/// dformer 3.7. Names: expand.weight (4 c, c), norm.
class PatchExpand3d final : public nn::Module {
 public:
  PatchExpand3d(const nn::Build& build, std::int64_t dim);
  std::string type() const override { return "PatchExpand3d"; }
  TokenVolume operator()(const TokenVolume& tokens);

 private:
  nn::Linear& expand_;
  nn::LayerNorm& norm_;
};

/// Tokens -> logits (b, classes, voxels) of their patches (ops::patch_logits). dformer 3.8. Names:
/// 0.expand.weight, 0.norm, 1.weight (classes, dim, 1, 1, 1).
class VolumeHead final : public nn::Module {
 public:
  VolumeHead(const nn::Build& build, std::int64_t dim, const Size3& patch, std::int64_t classes);
  std::string type() const override { return "VolumeHead"; }
  Tensor operator()(const TokenVolume& tokens);
  /// Multiply-adds for this number of tokens.
  std::int64_t macs(std::int64_t tokens) const;

 private:
  Size3 patch_;
  Tensor expand_, norm_weight_, norm_bias_, classes_;
};

/// [decoder, encoder] along the channels, linear to half of them. dformer 3.9. Names: weight, bias.
class SkipFusion final : public nn::Module {
 public:
  SkipFusion(const nn::Build& build, std::int64_t dim);
  std::string type() const override { return "SkipFusion"; }
  TokenVolume operator()(const TokenVolume& decoder, const TokenVolume& encoder);

 private:
  nn::Linear& linear_;
};

/// Sine and cosine of the place along each axis, interleaved: (1, d h w, dim), 2 floor(dim / 6)
/// channels an axis and zeros behind. dformer 3.12.
Tensor sinusoidal_volume(const Size3& grid, std::int64_t dim, DType dtype, const Device& device);

}  // namespace fovea::models
