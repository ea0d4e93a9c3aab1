// DLA-L: MRLA-L whose shortcut is refreshed by a cell that all layers of the stage share. kcla 2.4.

#include "layer_attention/dla.h"
#include "layer_attention/gated_channels.h"
#include "layer_attention/light.h"
#include "layer_attention/paper_counts.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::layer_attention {

std::int64_t DlaOptions::reduction_for(Family family) const {
  return reduction.value_or(family == Family::kSmallImages ? 4 : 16);
}

schema::Fields<DlaOptions> dla_fields() {
  using O = DlaOptions;
  return schema::Fields<O>{}
      .include(head_fields(O{}))
      .add("reduction", &O::reduction, schema::at_least(1),
           "by how much the hidden layers of the shared cell are narrower; null = 4 for small "
           "images, else 16 (the published size of DLA-L on ResNet-50 needs 32)")
      .add_enum("dsu_state", &O::dsu_state,
                {{"per_sample", DsuState::kPerSample}, {"batch0", DsuState::kBatch0}},
                "whose state of the shared cell refreshes a sample: its own, or that of the first "
                "sample of the batch (a defect of the public code)");
}

DlaShared::DlaShared(const Slot& slot, const DlaOptions& options, bool excite)
    : unit_(child<SharingUnit>("lstm", slot.build, slot.channels,
                               options.reduction_for(slot.family), false)) {
  if (!excite) return;
  // "extict" is the spelling of the public code.
  const char* name = slot.family == Family::kImageNet ? "extict" : "excite";
  excite_ = &child(name, make_value_conv(slot.build.at(name), slot.channels));
}

std::array<Names, 3> dla_names() {
  const Names beside{
      .blocks = "layers", .beside = true, .core = "layer_attention", .norm = "bn_layer_attention"};
  Names small = beside;
  small.stage = "stages";
  return {small, beside, beside};
}

CellState refreshing(const CellState& state, DsuState kind) {
  if (kind == DsuState::kPerSample) return state;
  return {ops::slice(state.hidden, 0, 0, 1), ops::slice(state.cell, 0, 0, 1)};
}

namespace {

const Info kDlaL{
    .title = "Dynamic layer attention, light", .source = "kcla 2.4", .names = dla_names()};

class DlaL final : public LayerAttention {
 public:
  class Shared final : public DlaShared {
   public:
    Shared(const Slot& slot, const DlaOptions& o) : DlaShared(slot, o, true) {}
  };

  DlaL(const Slot& slot, const DlaOptions& o)
      : o_(o),
        first_(slot.layer == 0),
        shared_(dynamic_cast<Shared&>(*slot.shared)),
        light_(child<Light>("", slot.build, slot.channels,
                            heads_of("dla_l", slot.channels, o.head_dim_for(slot.family)),
                            slot.family == Family::kSmallImages ? "layer_attention" : "mrla")) {}
  std::string type() const override { return "DLA-L"; }
  Join join() const override {
    return {.relu = o_.relu_after_bn.value_or(false), .drop_path = o_.drop_path};
  }

 protected:
  Tensor forward(const Layer& in, State& state, attention::Probe* probe) override {
    auto& cell = state.get<CellState>(first_);
    const Tensor y = pooled(in.x);
    count_pooling(in.x, 1);  // the public code pools once for the cell, once for query and key
    cell = shared_.unit()(y, cell);
    const Tensor& p = in.shortcut;
    const Tensor m = shared_.unit()(pooled(p), refreshing(cell, o_.dsu_state)).hidden;
    const Tensor refreshed = ops::add(ops::mul(p, channel_factor(m)), shared_.excite()(p));
    return light_(in.x, y, refreshed, probe);
  }

 private:
  DlaOptions o_;
  bool first_;
  Shared& shared_;
  Light& light_;
};

}  // namespace
}  // namespace fovea::layer_attention

namespace {
using namespace fovea::layer_attention;
}  // namespace

FOVEA_LAYER_ATTENTION(dla_l, DlaL, kDlaL, dla_fields())
