// A run of residual blocks of one width, with or without attention across them. kcla 3.1, 3.3, 3.5.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/resnet/residual_block.h"

namespace fovea::models {

struct StageOptions {
  BlockOptions block;  // the first one, which changes width and resolution
  std::int64_t depth = 1;
  std::optional<schema::Component> layer_attention;
  layer_attention::Family family = layer_attention::Family::kSmallImages;
  std::int64_t stage = 0;  // from 0
  bool last_stage = false;
  // Channels of the map that the stage before hands to the attention; 0: there is none.
  std::int64_t previous_channels = 0;
};

/// Blocks one after another: x (b, in, h, w) -> (b, block_width, h / stride, w / stride). Names of
/// blocks and attentions are those of the variant's public code (layer_attention::Names).
class ResidualStage final : public nn::Module {
 public:
  ResidualStage(const nn::Build& build, const StageOptions& options);
  std::string type() const override { return "Stage"; }
  /// `state` is that of the whole pass.
  Tensor operator()(const Tensor& x, layer_attention::State& state,
                    attention::Probe* probe = nullptr);

 private:
  std::vector<ResidualBlock*> blocks_;
};

/// The name that a network gives the stage: "layer1", "stages.0".
std::string stage_name(const StageOptions& options);

}  // namespace fovea::models
