// The blocks of D-Former and stages of them. dformer 3.4, 3.5, 4.1, 8.
#pragma once

#include <memory>
#include <vector>

#include "attention/unit_attention.h"
#include "models/volumes/dformer_parts.h"
#include "models/volumes/dformer_units.h"
#include "nn/convolution.h"
#include "nn/dropout.h"
#include "nn/ffn.h"

namespace fovea::models {

/// What the odd blocks of a stage attend to; the even ones have local units.
enum class OddBlocks { kGlobal, kLocal, kShifted };
/// Of block number `block` of a stage.
UnitScheme scheme_of(OddBlocks odd, std::size_t block);

/// The place of the position convolution in a stage.
enum class DpePosition { kBefore, kAfterLsm, kAfterGsm };

enum class PositionEncoding {
  kDpe,  // a depthwise convolution in every stage
  kApe,  // a learned table, added to the tokens of the patches
  kSpe,  // the same, of sines and cosines
  kRpe,  // a table of relative positions in every attention
  kNone,
};

/// What all blocks of a network have in common.
struct ScopeOptions {
  OddBlocks attn = OddBlocks::kGlobal;
  PositionEncoding positions = PositionEncoding::kDpe;
  DpePosition dpe_position = DpePosition::kBefore;
  std::int64_t dpe_kernel = 3;
  double mlp_ratio = 4;
  bool qkv_bias = true;
  std::optional<double> qk_scale;
  double drop_rate = 0, attn_drop_rate = 0;
};

struct StageShape {
  std::int64_t dim = 0, num_heads = 1;
  PartitionOptions partition = {};
  std::optional<Size3> grid = {};      // of its tokens; needed for a table of relative positions
  std::vector<double> drop_path = {};  // of each of its blocks
};

/// Attention in units of the grid, padded where units need that. dformer 3.2, 3.3, 3.10. Names:
/// qkv, proj, relative_position_bias_table.
class ScopeAttention final : public nn::Module {
 public:
  /// bias_unit: members along each axis of a table of relative positions; empty: there is none.
  ScopeAttention(const nn::Build& build, const ScopeOptions& options, const StageShape& stage,
                 const std::vector<std::int64_t>& bias_unit);
  std::string type() const override { return "ScopeAttention"; }
  Tensor operator()(const TokenVolume& tokens, const PartitionedGrid& units,
                    attention::Probe* probe = nullptr);

 private:
  attention::UnitAttention& attn_;
};

/// LSM or GSM, depending on its units:
///   z' = z + MSA(norm1(z)),  z'' = z' + mlp(norm2(z'))                              dformer 3.4
/// Names: norm1, attn, norm2, mlp.
class ScopeBlock final : public nn::Module {
 public:
  ScopeBlock(const nn::Build& build, const ScopeOptions& options, const StageShape& stage,
             const std::vector<std::int64_t>& bias_unit, double drop_path);
  std::string type() const override { return "ScopeBlock"; }
  bool is_block() const override { return true; }
  TokenVolume operator()(TokenVolume z, const PartitionedGrid& units,
                         attention::Probe* probe = nullptr);

 private:
  nn::LayerNorm& norm1_;
  ScopeAttention& attn_;
  nn::LayerNorm& norm2_;
  nn::FeedForward& mlp_;
  nn::DropPath* drop_path_ = nullptr;
};

/// Dynamic position encoding: x + a depthwise convolution of x. dformer 3.5. Names: proj.0.
class DynamicPosition final : public nn::Module {
 public:
  DynamicPosition(const nn::Build& build, std::int64_t dim, std::int64_t kernel)
      : conv_(child<nn::ResidualTokenConv3d>("proj.0", build, dim, kernel)) {}
  std::string type() const override { return "DynamicPosition"; }
  TokenVolume operator()(const TokenVolume& tokens) {
    const auto scope = enter();
    return {conv_(tokens.x, sizes_of(tokens.grid)), tokens.grid};
  }

 private:
  nn::ResidualTokenConv3d& conv_;
};

/// What follows the blocks of a stage.
enum class StageTail {
  kNone,
  kMerging,    // name "downsample"
  kExpanding,  // name "upsample"
};

/// LSM and GSM by turns with the position encoding in its place, and the tail. Names: blocks.N,
/// pos_block, downsample or upsample.
class ScopeStage final : public nn::Module {
 public:
  struct Result {
    TokenVolume features;  // of the blocks
    TokenVolume next;      // behind the tail
  };

  ScopeStage(const nn::Build& build, const ScopeOptions& options, const StageShape& shape,
             StageTail tail);
  std::string type() const override { return "ScopeStage"; }
  Result operator()(const TokenVolume& tokens, attention::Probe* probe = nullptr);

 private:
  DpePosition dpe_position_;
  Partitions local_, odd_;
  std::vector<ScopeBlock*> blocks_;
  DynamicPosition* pos_block_ = nullptr;
  PatchMerging3d* downsample_ = nullptr;
  PatchExpand3d* upsample_ = nullptr;
};

}  // namespace fovea::models
