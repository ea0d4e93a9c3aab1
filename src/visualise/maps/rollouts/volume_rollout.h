// Attention of networks of volumes, rolled out over the blocks of each stage and brought to the
// voxels. dformer 8.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"

namespace fovea::visualise {

struct StageRollouts {
  std::vector<std::string> stages;                 // "layers.0"; none without attention
  std::vector<std::array<std::int64_t, 3>> grids;  // tokens of each: depth, height, width
  /// (1, stages, d, h, w) float32 on the host: how much is seen of a place, 1 for as much as of
  /// the average token, linear between the middles of tokens.
  Tensor maps;
};

/// Runs the network in evaluation mode on one volume (1, c, d, h, w), normalised as in training.
/// Blocks under one name ("layers.0.blocks.N") are a stage; of each the rollout (unit_rollout.h) of
/// the token of a voxel, or the mean over those of all tokens. A token's own weight, which skip
/// connections make at least 2^-blocks, is drawn no larger than the largest beside it. Attentions
/// with negative weights are left out.
StageRollouts stage_rollouts(models::Model& model, const Tensor& volume,
                             std::optional<std::array<std::int64_t, 3>> voxel = std::nullopt);

}  // namespace fovea::visualise
