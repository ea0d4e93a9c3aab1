// A layer attention as part of a block: names, batch norm, drop path and residual sum.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layer_attention/layer_attention.h"
#include "nn/dropout.h"
#include "nn/norm.h"

namespace fovea::layer_attention {

/// The attention of one block. Registered in the block or in the stage under names_of(...).
class Attached final : public nn::Module {
 public:
  Attached(const Slot& slot, const schema::Component& component);
  std::string type() const override { return core_.type(); }

  bool on_branch() const { return join_.on_branch; }
  bool reads_inner() const { return join_.inner; }
  /// on_branch: the branch after attention. Else the block's output x becomes
  ///   x + drop_path(relu(norm(o)))   or, with `replace`, relu(norm(o)).
  Tensor operator()(const Layer& in, State& state, attention::Probe* probe);

 private:
  Tensor keep(const Tensor& x) const;

  LayerAttention& core_;
  Join join_;
  nn::BatchNorm2d* norm_ = nullptr;
  nn::DropPath* drop_path_ = nullptr;
};

/// Names in a family of networks: the variant's, or those of a network without one.
const Names& names_of(const std::optional<schema::Component>& component, Family family);
/// "layer1" or "stages.0" for stage 0.
std::string stage_name(const Names& names, std::int64_t stage);
/// "3", "layers.3" for block 3.
std::string block_name(const Names& names, std::int64_t block);

/// The layer attentions of one stage.
struct Stage {
  std::unique_ptr<nn::Module> shared;  // of all its layers, or null; its names have no prefix
  std::vector<std::unique_ptr<Attached>> layers;
};
/// One for each of slot.layers, from layer 0 on; the rest is as in `slot`.
Stage make_stage(Slot slot, const schema::Component& component);
/// The name of a layer's attention in its stage: "attention.3", or that of the block that contains
/// it.
std::string layer_name(const Names& names, std::int64_t layer);

}  // namespace fovea::layer_attention
