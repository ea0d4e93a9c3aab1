// Pyramid vision transformers, version 2 (Wang et al.): overlapping patch embeddings, attention to
// tokens on a coarser grid, and a depthwise convolution in every feed-forward network. gdla 2.16,
// 3.1. Names are those of the original code (patch_embed1, block1.0, norm1); timm's are read as
// well.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/backbone.h"
#include "nn/convolution.h"
#include "nn/dropout.h"
#include "nn/ffn.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace fovea::models {

struct PvtV2Options {
  std::vector<std::int64_t> embed_dims, num_heads, depths, sr_ratios;
  std::vector<double> mlp_ratios;
  bool linear = false;
  bool qkv_bias = true;
  double drop_path_rate = 0.1;
};
schema::Fields<PvtV2Options> pvt_v2_fields(const PvtV2Options& defaults);

/// The published sizes: "b0" to "b5", and "b2_li".
PvtV2Options pvt_v2_size(const std::string& size);

/// A convolution with overlapping windows, and a layer norm of its tokens: (b, in, h, w) -> tokens.
/// Names: proj, norm.
class OverlapPatchEmbed final : public nn::Module {
 public:
  struct Tokens {
    Tensor x;  // (b, h w, dim)
    nn::Grid grid;
  };
  OverlapPatchEmbed(const nn::Build& build, std::int64_t in, std::int64_t dim,
                    std::int64_t patch_size, std::int64_t stride);
  std::string type() const override { return "OverlapPatchEmbed"; }
  Tokens operator()(const Tensor& map);

 private:
  nn::Conv2d& proj_;
  nn::LayerNorm& norm_;
};

struct SpatialReductionOptions {
  std::int64_t num_heads = 1;
  std::int64_t sr_ratio = 1;
  bool linear = false;  // keys and values of 7 x 7 places, whatever sr_ratio is
  bool qkv_bias = true;
};

/// Softmax attention of all tokens to keys and values of a coarser grid: (b, h w, dim) -> the same.
/// A probe sees the whole map (b, heads, h w, keys) as "reduced_attn". Names: q, kv, proj, sr,
/// norm.
class SpatialReductionAttention final : public nn::Module {
 public:
  SpatialReductionAttention(const nn::Build& build, std::int64_t dim,
                            const SpatialReductionOptions& options);
  std::string type() const override { return "SpatialReductionAttention"; }
  Tensor operator()(const Tensor& x, const nn::Grid& grid, attention::Probe* probe);

 private:
  Tensor reduced(const Tensor& x, const nn::Grid& grid);

  SpatialReductionOptions o_;
  nn::Linear& q_;
  nn::Linear& kv_;
  nn::Linear& proj_;
  nn::Conv2d* sr_ = nullptr;
  nn::LayerNorm* norm_ = nullptr;
};

/// x + attn(norm1(x)), then x + mlp(norm2(x)), both with stochastic depth.
class PvtV2Block final : public nn::Module {
 public:
  PvtV2Block(const nn::Build& build, std::int64_t dim, const SpatialReductionOptions& attention,
             double mlp_ratio, double drop_path);
  std::string type() const override { return "PvtV2Block"; }
  bool is_block() const override { return true; }
  Tensor operator()(Tensor x, const nn::Grid& grid, attention::Probe* probe = nullptr);

 private:
  nn::LayerNorm& norm1_;
  SpatialReductionAttention& attn_;
  nn::LayerNorm& norm2_;
  nn::FeedForward& mlp_;
  nn::DropPath* drop_path_ = nullptr;
};

/// One level a stage, strides 4, 8, 16, 32.
class PvtV2Backbone final : public Backbone {
 public:
  static constexpr std::array<const char*, 1> kHead = {"head.*"};

  /// Throws ConfigError unless the options have a number for every stage.
  PvtV2Backbone(const nn::Build& build, const PvtV2Options& options, std::int64_t in_chans);
  std::string type() const override { return "PvtV2"; }

 protected:
  std::vector<Tensor> forward(const Tensor& image, attention::Probe* probe) override;
  std::vector<std::string> parts_of(std::int64_t stage) const override;
  std::string translated(const std::string& name) const override;

 private:
  struct Stage {
    OverlapPatchEmbed* embed = nullptr;
    std::vector<PvtV2Block*> blocks = {};
    nn::LayerNorm* norm = nullptr;
  };
  DType activations_;
  std::vector<Stage> stages_;
};

}  // namespace fovea::models
