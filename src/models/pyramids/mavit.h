// MAViT: a pyramid of convolutional stem, blocks with magnitude-aware or softmax attention, and
// convolutions between the stages. mala 3.7, 4.1; names are those of the authors' code.
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "base/last_made.h"
#include "models/backbone.h"
#include "models/pyramids/mavit_attention.h"
#include "nn/dropout.h"
#include "nn/norm.h"

namespace fovea::models {

struct MavitOptions {
  std::vector<std::int64_t> embed_dims, depths, num_heads;
  std::vector<double> mlp_ratios, layer_scale_init;
  double drop_path_rate = 0.1;
  std::string flags = "llvv";
  MavitAttentionOptions attention;
};
schema::Fields<MavitOptions> mavit_fields(const MavitOptions& defaults);

/// The published sizes: 't', 's', 'b', 'l'.
MavitOptions mavit_size(char size);

/// fc2(h + dwconv(h)) with h = gelu(fc1(x)): (b, h w, dim) -> the same. Names: fc1, dwconv, fc2.
class MavitFfn final : public nn::Module {
 public:
  MavitFfn(const nn::Build& build, std::int64_t dim, std::int64_t hidden);
  std::string type() const override { return "MavitFFN"; }
  Tensor operator()(Tensor x, const nn::Grid& grid);

 private:
  nn::TokenPointwise& fc1_;
  nn::TokenConv2d& dwconv_;
  nn::TokenPointwise& fc2_;
};

struct MavitBlockOptions {
  std::int64_t dim = 0, num_heads = 1, hidden = 0;
  MavitMechanism mechanism = MavitMechanism::kMala;
  double layer_scale_init = 0;  // 0: none
  double drop_path = 0;
  MavitAttentionOptions attention = {};
};

/// x + pos(x), then x + gamma_1 attn(norm1(x)), then x + gamma_2 ffn(norm2(x)), the last two with
/// stochastic depth: (b, h w, dim) -> the same.
class MavitBlock final : public nn::Module {
 public:
  MavitBlock(const nn::Build& build, const MavitBlockOptions& options);
  std::string type() const override { return "MavitBlock"; }
  bool is_block() const override { return true; }
  /// The context has the grid and the rotary tables.
  Tensor operator()(Tensor x, const attention::Context& context);

 private:
  Tensor residual(const Tensor& x, Tensor branch, const Tensor& scale) const;

  nn::LayerNorm& norm1_;
  MavitAttention& attn_;
  nn::LayerNorm& norm2_;
  MavitFfn& ffn_;
  nn::TokenConv2d& pos_;
  nn::DropPath* drop_path_ = nullptr;
  Tensor gamma_1_, gamma_2_;  // (1, dim, 1, 1)
};

/// Image -> map of stride 4. Names: proj.0 to proj.10.
class MavitStem final : public nn::UnaryModule {
 public:
  MavitStem(const nn::Build& build, std::int64_t in, std::int64_t dim);
  std::string type() const override { return "MavitStem"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  std::vector<nn::Conv2d*> convs_;
  std::vector<nn::BatchNorm2d*> norms_;
};

/// A convolution of stride 2 and a batch norm: (b, in, h, w) -> (b, out, h / 2, w / 2). Names:
/// reduction, norm.
class MavitDownsample final : public nn::UnaryModule {
 public:
  MavitDownsample(const nn::Build& build, std::int64_t in, std::int64_t out);
  std::string type() const override { return "MavitDownsample"; }

 protected:
  Tensor forward(const Tensor& x) override { return norm_(reduction_(x)); }

 private:
  nn::Conv2d& reduction_;
  nn::BatchNorm2d& norm_;
};

/// Rotary tables of a grid from the rates of a checkpoint. Buffer: angle (head_dim / 2), every rate
/// twice.
class MavitRope final : public nn::Module {
 public:
  MavitRope(const nn::Build& build, std::int64_t head_dim);
  std::string type() const override { return "RotaryPositions2d"; }
  ops::RotaryTables operator()(const nn::Grid& grid, DType activations);

 private:
  std::vector<double> rates_;
  Tensor angle_;
  std::uint64_t version_;  // of the buffer with these rates
  using Key = std::tuple<std::int64_t, std::int64_t, DType, std::uint64_t>;
  LastMade<Key, ops::RotaryTables> tables_;  // by grid, type and version
};

/// One level a stage, strides 4, 8, 16, 32, each through a layer norm (extra_norms) where the maps
/// are for dense prediction.
class MavitBackbone final : public Backbone {
 public:
  static constexpr std::array<const char*, 3> kHead = {"proj.*", "norm.*", "head.*"};
  /// Patterns of the tensors that files of classifiers lack.
  static constexpr std::array<const char*, 1> kFresh = {"extra_norms.*"};

  /// Throws ConfigError unless the options have a number for every stage.
  MavitBackbone(const nn::Build& build, const MavitOptions& options, std::int64_t in_chans,
                bool extra_norms = true);
  std::string type() const override { return "Mavit"; }
  /// The last level alone, as a map.
  Tensor last_level(const Tensor& image, attention::Probe* probe);

 protected:
  std::vector<Tensor> forward(const Tensor& image, attention::Probe* probe) override;
  std::vector<std::string> parts_of(std::int64_t stage) const override;

 private:
  struct Stage {
    MavitRope* rope = nullptr;
    std::vector<MavitBlock*> blocks = {};
    MavitDownsample* downsample = nullptr;
    nn::LayerNorm* extra_norm = nullptr;
  };
  // Appends the levels to `levels` where it is not null.
  Tensor run(const Tensor& image, attention::Probe* probe, std::vector<Tensor>* levels);

  DType activations_;
  MavitStem* stem_ = nullptr;
  std::vector<Stage> stages_;
};

}  // namespace fovea::models
