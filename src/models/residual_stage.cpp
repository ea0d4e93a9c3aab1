#include "models/residual_stage.h"

#include <fmt/format.h>

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
                             .bottleneck = o.block.kind == BlockKind::kBottleneck};
  BlockOptions block = o.block;
  for (std::int64_t i = 0; i < o.depth; ++i) {
    blocks_.push_back(&child<ResidualBlock>(layer_attention::block_name(names, i), build, block));
    block.in = slot.channels;
    block.stride = 1;
  }
  if (!o.layer_attention) return;
  if (auto shared = layer_attention::make_shared(slot, *o.layer_attention)) {
    slot.shared = &child("", std::move(shared));
  }
  for (; slot.layer < o.depth; ++slot.layer) add_attention(slot, *o.layer_attention, names);
}

void ResidualStage::add_attention(const layer_attention::Slot& slot,
                                  const schema::Component& component,
                                  const layer_attention::Names& names) {
  layer_attention::Slot here = slot;
  const std::string name = names.beside ? fmt::format("attention.{}", slot.layer)
                                        : layer_attention::block_name(names, slot.layer);
  here.build = slot.build.at(name);
  auto attention = std::make_unique<layer_attention::Attached>(here, component);
  ResidualBlock& block = *blocks_[static_cast<std::size_t>(slot.layer)];
  if (names.beside) {
    block.use(child(name, std::move(attention)));
  } else {
    block.own(std::move(attention));
  }
}

Tensor ResidualStage::operator()(const Tensor& x, layer_attention::State& state,
                                 attention::Probe* probe) {
  const auto scope = enter();
  Tensor y = x;
  for (ResidualBlock* block : blocks_) y = (*block)(y, {.state = &state, .probe = probe});
  return y;
}

}  // namespace fovea::models
