#include "models/volumes/dformer_stage.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

// Pads the sides of `grid` with zeros to those of `to`, or crops them.
Tensor on_grid_of(const Size3& to, const Tensor& x, const Size3& grid) {
  const TokenVolume from{x, grid};
  return TokenVolume::from_grid(ops::pad(from.as_grid(), {{0, 0},
                                                          {0, to[0] - grid[0]},
                                                          {0, to[1] - grid[1]},
                                                          {0, to[2] - grid[2]},
                                                          {0, 0}}))
      .x;
}

std::unique_ptr<nn::FeedForward> make_mlp(const nn::Build& build, std::int64_t dim,
                                          const ScopeOptions& o) {
  const auto mlp = schema::with_options("mlp", {{"expansion", o.mlp_ratio}});
  return nn::make_ffn(mlp, build, dim, o.drop_rate);
}

// A table of relative positions has the size of the units in the plan for this grid.
std::vector<std::int64_t> bias_unit(const ScopeOptions& options, const StageShape& stage,
                                    UnitScheme scheme) {
  if (options.positions != PositionEncoding::kRpe) return {};
  FOVEA_CHECK(stage.grid.has_value(), ConfigError,
              "model.img_size: not given, and pos_encoding rpe needs it");
  return partition(*stage.grid, scheme, stage.partition).unit;
}

}  // namespace

UnitScheme scheme_of(OddBlocks odd, std::size_t block) {
  if (block % 2 == 0) return UnitScheme::kLocal;
  switch (odd) {
    case OddBlocks::kLocal:
      return UnitScheme::kLocal;
    case OddBlocks::kShifted:
      return UnitScheme::kShifted;
    default:
      return UnitScheme::kGlobal;
  }
}

ScopeAttention::ScopeAttention(const nn::Build& build, const ScopeOptions& o,
                               const StageShape& stage, const std::vector<std::int64_t>& table)
    : attn_(child<attention::UnitAttention>("", build, "dformer", stage.dim,
                                            attention::UnitOptions{.num_heads = stage.num_heads,
                                                                   .qkv_bias = o.qkv_bias,
                                                                   .qk_scale = o.qk_scale,
                                                                   .bias_unit = table,
                                                                   .attn_drop = o.attn_drop_rate,
                                                                   .proj_drop = o.drop_rate})) {}

Tensor ScopeAttention::operator()(const TokenVolume& tokens, const PartitionedGrid& units,
                                  attention::Probe* probe) {
  const auto scope = enter();
  const Size3& padded = units.grid;
  if (padded == tokens.grid) return attn_(tokens.x, units.units, probe);
  const Tensor x = on_grid_of(padded, tokens.x, tokens.grid);
  return on_grid_of(tokens.grid, attn_(x, units.units, probe), padded);
}

ScopeBlock::ScopeBlock(const nn::Build& build, const ScopeOptions& o, const StageShape& stage,
                       const std::vector<std::int64_t>& table, double drop_path)
    : norm1_(child<nn::LayerNorm>("norm1", build, stage.dim, kVolumeNormEps)),
      attn_(child<ScopeAttention>("attn", build, o, stage, table)),
      norm2_(child<nn::LayerNorm>("norm2", build, stage.dim, kVolumeNormEps)),
      mlp_(child("mlp", make_mlp(build.at("mlp"), stage.dim, o))) {
  if (drop_path > 0) drop_path_ = &child<nn::DropPath>("drop_path", build, drop_path);
}

TokenVolume ScopeBlock::operator()(TokenVolume z, const PartitionedGrid& units,
                                   attention::Probe* probe) {
  const auto scope = enter();
  const auto residual = [&](const Tensor& to, Tensor branch) {
    if (drop_path_ != nullptr) branch = (*drop_path_)(branch);
    return ops::add(to, std::move(branch));
  };
  z.x = residual(z.x, attn_({norm1_(z.x), z.grid}, units, probe));
  z.x = residual(z.x, mlp_(norm2_(z.x), {}));
  if (probe != nullptr) probe->record("features", ops::permute(z.as_grid(), {0, 4, 1, 2, 3}));
  return z;
}

ScopeStage::ScopeStage(const nn::Build& build, const ScopeOptions& o, const StageShape& shape,
                       StageTail tail)
    : dpe_position_(o.dpe_position),
      local_(UnitScheme::kLocal, shape.partition),
      odd_(scheme_of(o.attn, 1), shape.partition) {
  for (std::size_t i = 0; i < shape.drop_path.size(); ++i) {
    blocks_.push_back(&child<ScopeBlock>(fmt::format("blocks.{}", i), build, o, shape,
                                         bias_unit(o, shape, scheme_of(o.attn, i)),
                                         shape.drop_path[i]));
  }
  if (o.positions == PositionEncoding::kDpe)
    pos_block_ = &child<DynamicPosition>("pos_block", build, shape.dim, o.dpe_kernel);
  if (tail == StageTail::kMerging)
    downsample_ = &child<PatchMerging3d>("downsample", build, shape.dim);
  if (tail == StageTail::kExpanding)
    upsample_ = &child<PatchExpand3d>("upsample", build, shape.dim);
}

ScopeStage::Result ScopeStage::operator()(const TokenVolume& tokens, attention::Probe* probe) {
  const auto scope = enter();
  const PartitionedGrid local = local_.of(tokens.grid, tokens.x.device());
  const PartitionedGrid odd = odd_.of(tokens.grid, tokens.x.device());
  TokenVolume z = tokens;
  const std::size_t place = static_cast<std::size_t>(dpe_position_);  // blocks before it
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (i == place && pos_block_ != nullptr) z = (*pos_block_)(z);
    z = (*blocks_[i])(std::move(z), i % 2 == 0 ? local : odd, probe);
  }
  if (blocks_.size() <= place && pos_block_ != nullptr) z = (*pos_block_)(z);
  if (downsample_ != nullptr) return {z, (*downsample_)(z)};
  return {z, upsample_ != nullptr ? (*upsample_)(z) : z};
}

}  // namespace fovea::models
