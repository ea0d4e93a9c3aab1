#include "layer_attention/residual.h"

#include <fmt/format.h>

#include <string_view>

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/scaled_sum.h"

namespace fovea::layer_attention {
namespace {

std::unique_ptr<LayerAttention> make_core(const Slot& slot, const schema::Component& component) {
  Slot inside = slot;
  // One step for every part of the name, so that initial weights depend on the whole name.
  inside.build = slot.build.at(names_of(component, slot.family).core);
  return variants().find(component.type).make(inside, component);
}

}  // namespace

Attached::Attached(const Slot& slot, const schema::Component& component)
    : core_(child(names_of(component, slot.family).core, make_core(slot, component))),
      join_(core_.join()) {
  if (join_.on_branch) return;
  if (join_.norm) {
    norm_ =
        &child<nn::BatchNorm2d>(names_of(component, slot.family).norm, slot.build, slot.channels);
  }
  if (join_.drop_path > 0 && !join_.replace) {
    drop_path_ = &child<nn::DropPath>("drop_path", slot.build, join_.drop_path);
  }
}

// The mask of drop path as weights of planes, or nothing.
Tensor Attached::keep(const Tensor& x) const {
  if (drop_path_ == nullptr || !training()) return {};
  return (*drop_path_)(ops::ones({x.size(0), x.size(1)}, compute_dtype(x.dtype()), x.device()));
}

Tensor Attached::operator()(const Layer& in, State& state, attention::Probe* probe) {
  const auto scope = enter();
  if (join_.adds) {
    Layer with_sum = in;
    with_sum.add = true;
    with_sum.keep = keep(in.x);
    return core_(with_sum, state, probe);
  }
  Tensor o = core_(in, state, probe);
  if (join_.on_branch) return o;
  if (norm_ != nullptr) {
    o = join_.relu ? norm_->with_relu(o) : (*norm_)(o);
  }
  if (join_.replace) return o;
  const Tensor mask = keep(in.x);
  return mask.defined() ? ops::scaled_sum(in.x, mask, o) : ops::add(in.x, o);
}

const Names& names_of(const std::optional<schema::Component>& component, Family family) {
  static const std::array<Names, 3> plain = {{{}, {}, {.blocks = "layers"}}};
  const auto& names = component ? variants().find(component->type).info.names : plain;
  return names[static_cast<std::size_t>(family)];
}

std::string stage_name(const Names& names, std::int64_t stage) {
  const bool from_one = std::string_view(names.stage) == "layer";
  return from_one ? fmt::format("layer{}", stage + 1) : fmt::format("{}.{}", names.stage, stage);
}

std::string block_name(const Names& names, std::int64_t block) {
  return *names.blocks == '\0' ? fmt::format("{}", block)
                               : fmt::format("{}.{}", names.blocks, block);
}

std::string layer_name(const Names& names, std::int64_t layer) {
  return names.beside ? fmt::format("attention.{}", layer) : block_name(names, layer);
}

Stage make_stage(Slot slot, const schema::Component& component) {
  const Names& names = names_of(component, slot.family);
  const nn::Build build = slot.build;
  Stage stage;
  stage.shared = variants().find(component.type).make_shared(slot, component);
  slot.shared = stage.shared.get();
  for (slot.layer = 0; slot.layer < slot.layers; ++slot.layer) {
    slot.build = build.at(layer_name(names, slot.layer));
    stage.layers.push_back(std::make_unique<Attached>(slot, component));
  }
  return stage;
}

}  // namespace fovea::layer_attention
