// Swin Transformer (Liu et al.): a pyramid of stages whose blocks attend inside windows of the
// grid, shifted by half a window in every second block; or with another token attention, to the
// whole grid. mala 3.8, 4.3. Names are those of the official code; timm's are read as well.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "attention/unit_attention.h"
#include "base/last_made.h"
#include "models/backbone.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/ffn.h"
#include "nn/norm.h"

namespace fovea::models {

/// The tokens that attentions other than softmax see.
enum class LinearWindow { kGlobal, kLocal };

struct SwinOptions {
  std::int64_t embed_dim = 96;
  std::vector<std::int64_t> depths = {2, 2, 6, 2}, num_heads = {3, 6, 12, 24};
  std::int64_t patch_size = 4;
  std::int64_t window_size = 7;
  double mlp_ratio = 4;
  double drop_path_rate = 0.2;
  std::vector<schema::Component> kinds = {{"softmax", {}}};  // one, or one a stage
  LinearWindow linear_window = LinearWindow::kGlobal;
};
schema::Fields<SwinOptions> swin_fields(const SwinOptions& defaults);

/// The published sizes: "t", "s", "b".
SwinOptions swin_size(const std::string& size);

/// The sizes of a stage, for its blocks.
struct SwinStageShape {
  std::int64_t dim = 0, num_heads = 1;
  nn::Grid grid = {};  // of the tokens; 0: not known before the first pass
};

/// What the blocks of a stage share in one pass: the layout of tokens, and their windows.
struct SwinTokens {
  nn::Grid grid;
  std::array<ops::Units, 2> windows;  // as they are, and shifted
};

/// x + attn(norm1(x)), then x + mlp(norm2(x)), both with stochastic depth: (b, n, dim) -> the same.
/// Names: norm1, attn, norm2, mlp.
class SwinBlock final : public nn::Module {
 public:
  SwinBlock(const nn::Build& build, const SwinOptions& options, const schema::Component& kind,
            const SwinStageShape& shape, std::int64_t index, double drop_path);
  std::string type() const override { return "SwinBlock"; }
  bool is_block() const override { return true; }
  Tensor operator()(Tensor x, const SwinTokens& tokens, attention::Probe* probe);

 protected:
  std::string translated(const std::string& name) const override;

 private:
  Tensor attend(const Tensor& x, const SwinTokens& tokens, attention::Probe* probe);

  nn::LayerNorm& norm1_;
  attention::UnitAttention* windows_ = nullptr;
  attention::Attention* tokens_ = nullptr;  // or this one
  nn::LayerNorm& norm2_;
  nn::FeedForward* mlp_ = nullptr;
  nn::DropPath* drop_path_ = nullptr;
  bool shifted_;
  std::int64_t local_ = 0;  // window of tokens_; 0: the whole grid
};

/// The channels of 2 x 2 tokens next to each other, column by column, a norm, and a linear layer to
/// half of them: (b, h w, dim) -> (b, ceil(h / 2) ceil(w / 2), 2 dim). Grids of odd size are padded
/// with zeros. Names: norm, reduction.
class PatchMerging final : public nn::Module {
 public:
  PatchMerging(const nn::Build& build, std::int64_t dim);
  std::string type() const override { return "PatchMerging"; }
  Tensor operator()(const Tensor& x, const nn::Grid& grid);

 private:
  nn::LayerNorm& norm_;
  nn::Linear& reduction_;
};

/// Patches of an image as tokens, normed: (b, c, h, w) -> (b, n, dim). Names: proj, norm.
class SwinPatchEmbed final : public nn::Module {
 public:
  SwinPatchEmbed(const nn::Build& build, std::int64_t patch_size, std::int64_t in_chans,
                 std::int64_t dim);
  std::string type() const override { return "SwinPatchEmbed"; }
  Tensor operator()(const Tensor& image);

 private:
  nn::PatchEmbed& proj_;
  nn::LayerNorm& norm_;
};

/// Patch embedding and stages. Names: patch_embed, layers.{s}.blocks.{b}, layers.{s}.downsample.
class SwinStages final : public nn::Module {
 public:
  /// `grid`: of the patches, 0 where it is not known. Throws ConfigError unless the options have a
  /// number for every stage.
  SwinStages(const nn::Build& build, const SwinOptions& options, std::int64_t in_chans,
             const nn::Grid& grid);
  std::string type() const override { return "SwinStages"; }

  /// Tokens of a stage, (b, n, dim), before they are merged for the next one.
  struct Level {
    Tensor x;
    nn::Grid grid;
  };
  /// Images whose sides are no multiples of a patch are padded with zeros, below and to the right.
  std::vector<Level> operator()(const Tensor& image, attention::Probe* probe);
  /// One for each stage.
  std::vector<PyramidLevel> levels() const;

 protected:
  std::string translated_in_file(const std::string& name, const HasName& in_file) const override;

 private:
  struct Stage {
    std::int64_t dim = 0;
    std::array<std::int64_t, 2> window = {};
    std::vector<SwinBlock*> blocks = {};
    PatchMerging* downsample = nullptr;                             // null: the last stage
    LastMade<std::array<std::int64_t, 2>, SwinTokens> tokens = {};  // by the sides of the grid
  };
  SwinTokens tokens_of(Stage& stage, const nn::Grid& grid) const;

  Device device_;
  DType activations_;
  std::int64_t patch_size_;
  SwinPatchEmbed& patch_embed_;
  std::vector<Stage> stages_;
};

/// One level a stage, strides 4, 8, 16, 32, each with a norm of its own (norm0 to norm3), which
/// files of classifiers do not have.
class SwinBackbone final : public Backbone {
 public:
  static constexpr std::array<const char*, 2> kHead = {"head.*", "norm.*"};
  static constexpr std::array<const char*, 1> kFresh = {"norm*"};

  SwinBackbone(const nn::Build& build, const SwinOptions& options, std::int64_t in_chans);
  std::string type() const override { return "Swin"; }

 protected:
  std::vector<Tensor> forward(const Tensor& image, attention::Probe* probe) override;
  std::vector<std::string> parts_of(std::int64_t stage) const override;

 private:
  SwinStages& stages_;
  std::vector<nn::LayerNorm*> norms_;
};

}  // namespace fovea::models
