#include "models/resnet/residual_stage.h"

namespace fovea::models {

std::string stage_name(const StageOptions& o) {
  return layer_attention::stage_name(layer_attention::names_of(o.layer_attention, o.family),
                                     o.stage);
}

ResidualStage::ResidualStage(const nn::Build& build, const StageOptions& o) {
  const layer_attention::Names& names = layer_attention::names_of(o.layer_attention, o.family);
  layer_attention::Slot slot{.build = build,
                             .family = o.family,
                             .channels = block_width(o.block.kind, o.block.planes),
                             .stage = o.stage,
                             .layers = o.depth,
                             .last_stage = o.last_stage,
                             .previous_channels = o.previous_channels,
                             .stride = o.block.stride,
                             .bottleneck = o.block.kind == BlockKind::kBottleneck,
                             .inner = inner_widths(o.block.kind, o.block.planes)};
  BlockOptions block = o.block;
  for (std::int64_t i = 0; i < o.depth; ++i) {
    blocks_.push_back(&child<ResidualBlock>(layer_attention::block_name(names, i), build, block));
    block.in = slot.channels;
    block.stride = 1;
  }
  if (!o.layer_attention) return;
  layer_attention::Stage stage = layer_attention::make_stage(slot, *o.layer_attention);
  if (stage.shared != nullptr) child("", std::move(stage.shared));
  for (std::int64_t i = 0; i < o.depth; ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (names.beside) {
      blocks_[place]->use(
          child(layer_attention::layer_name(names, i), std::move(stage.layers[place])));
    } else {
      blocks_[place]->own(std::move(stage.layers[place]));
    }
  }
}

Tensor ResidualStage::operator()(const Tensor& x, layer_attention::State& state,
                                 attention::Probe* probe) {
  const auto scope = enter();
  Tensor y = x;
  for (ResidualBlock* block : blocks_) y = (*block)(y, {.state = &state, .probe = probe});
  if (probe != nullptr) probe->record("features", y);
  return autograd::hooked(y);
}

}  // namespace fovea::models
