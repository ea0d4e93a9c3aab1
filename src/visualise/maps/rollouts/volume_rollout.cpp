#include "visualise/maps/rollouts/volume_rollout.h"

#include <algorithm>
#include <numeric>

#include "autograd/mode.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "visualise/maps/rollouts/unit_rollout.h"

namespace fovea::visualise {
namespace {

using attention::Probe;
using TokenGrid = std::array<std::int64_t, 3>;

struct VolumeStage {
  std::string name;
  TokenGrid grid{};
  std::vector<UnitMap> blocks;
};

// A map of all tokens on all is that of one unit.
Probe::Record as_units(const Probe::Record& record) {
  if (record.name == "unit_attn") return record;
  const std::int64_t heads = record.value.size(1), n = record.value.size(-1);
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  const Tensor& maps = record.value;
  return {record.module, "unit_attn", maps.alias({maps.size(0), heads, 1, n, n}),
          Tensor::from(all, {1, n}, maps.device())};
}

// "layers.0" of "layers.0.blocks.1".
std::string stage_of_block(const std::string& block) {
  std::string name = block.substr(0, block.rfind('.'));
  const std::string blocks = ".blocks";
  if (name.ends_with(blocks)) name.resize(name.size() - blocks.size());
  return name;
}

// What an attention records comes before the features of its block, which know the grid.
std::vector<VolumeStage> stages_of(const std::vector<Probe::Record>& records) {
  std::vector<VolumeStage> stages;
  const Probe::Record* attention = nullptr;
  for (const Probe::Record& record : records) {
    const bool whole = record.name == "attn" && record.value.size(2) == record.value.size(3);
    if (record.name == "unit_attn" || (whole && !record.is_signed)) attention = &record;
    if (record.name != "features") continue;
    if (attention != nullptr && record.value.rank() == 5) {
      const std::string name = stage_of_block(record.module);
      if (stages.empty() || stages.back().name != name)
        stages.push_back(
            {name, {record.value.size(2), record.value.size(3), record.value.size(4)}, {}});
      stages.back().blocks.emplace_back(as_units(*attention));
    }
    attention = nullptr;
  }
  return stages;
}

// Without the modules that all of them are in.
void shorten(std::vector<std::string>& names) {
  if (names.size() < 2) return;
  std::size_t same = names[0].size();
  for (const std::string& name : names) {
    const auto ends = std::mismatch(names[0].begin(), names[0].end(), name.begin(), name.end());
    same = std::min(same, static_cast<std::size_t>(ends.first - names[0].begin()));
  }
  const std::size_t dot = names[0].substr(0, same).rfind('.');
  if (dot == std::string::npos) return;
  for (std::string& name : names) name.erase(0, dot + 1);
}

std::size_t token_at(const TokenGrid& voxel, const Shape& volume, const TokenGrid& grid) {
  std::int64_t token = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    token = token * grid[axis] + voxel[axis] * grid[axis] / volume[static_cast<int>(axis) + 2];
  return static_cast<std::size_t>(token);
}

// Weights of the tokens, 1 on average.
std::vector<float> weights_of(const VolumeStage& stage, const Shape& volume,
                              const std::optional<TokenGrid>& voxel) {
  const auto tokens = static_cast<std::size_t>(stage.grid[0] * stage.grid[1] * stage.grid[2]);
  const auto n = static_cast<double>(tokens);
  std::vector<double> row(tokens, voxel ? 0.0 : 1 / n);
  const std::size_t own = voxel ? token_at(*voxel, volume, stage.grid) : 0;
  if (voxel) row[own] = 1;
  for (auto block = stage.blocks.rbegin(); block != stage.blocks.rend(); ++block) {
    // Slices that were added behind the depth may be tokens to a block; what they get is left out.
    row.resize(static_cast<std::size_t>(block->tokens()), 0.0);
    row = unit_rollout({*block}, std::move(row));
    row.resize(tokens);
  }
  if (voxel) {
    row[own] = 0;
    row[own] = *std::max_element(row.begin(), row.end());
  }
  std::vector<float> weights;
  for (const double weight : row) weights.push_back(static_cast<float>(n * weight));
  return weights;
}

}  // namespace

StageRollouts stage_rollouts(models::Model& model, const Tensor& volume,
                             std::optional<TokenGrid> voxel) {
  const autograd::NoGrad no_grad;
  model.train(false);
  Probe probe;
  model(models::only_input(model.interface(),
                           ops::to(volume, model.parameters().front().tensor.device())),
        &probe);
  StageRollouts rollouts;
  std::vector<Tensor> maps;
  const ops::Sizes sides = volume.shape().part(2, 5).to_vector();
  for (const VolumeStage& stage : stages_of(probe.records())) {
    rollouts.stages.push_back(stage.name);
    rollouts.grids.push_back(stage.grid);
    const auto& [d, h, w] = stage.grid;
    const Tensor tokens =
        Tensor::from(weights_of(stage, volume.shape(), voxel), {1, 1, d, h, w}, volume.device());
    maps.push_back(ops::resize(tokens, sides, ops::Interpolation::kLinear));
  }
  if (!maps.empty()) rollouts.maps = ops::concat(maps, 1);
  shorten(rollouts.stages);
  return rollouts;
}

}  // namespace fovea::visualise
