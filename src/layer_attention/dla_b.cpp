// DLA-B: MRLA-B whose cached keys and values are refreshed at every layer by a cell that all layers
// of the stage share. kcla 2.4.

#include <cmath>

#include "layer_attention/dla.h"
#include "layer_attention/gated_channels.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::CellState;
using layer_attention::DlaOptions;
using layer_attention::Slot;

const layer_attention::Info kDlaB{.title = "Dynamic layer attention, base",
                                  .source = "kcla 2.4",
                                  .names = layer_attention::dla_names()};

class DlaB final : public layer_attention::LayerAttention {
 public:
  class Shared final : public layer_attention::DlaShared {
   public:
    Shared(const Slot& slot, const DlaOptions& o) : DlaShared(slot, o, false) {}
  };

  DlaB(const Slot& slot, const DlaOptions& o)
      : o_(o),
        first_(slot.layer == 0),
        shared_(dynamic_cast<Shared&>(*slot.shared)),
        p_(child<layer_attention::Projections>(
            slot.family == layer_attention::Family::kSmallImages ? "layer_attention" : "mrla",
            slot.build, slot.channels,
            layer_attention::heads_of("dla_b", slot.channels, o.head_dim_for(slot.family)))) {}
  std::string type() const override { return "DLA-B"; }
  layer_attention::Join join() const override {
    return {.relu = o_.relu_after_bn.value_or(true), .drop_path = o_.drop_path};
  }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe* probe) override {
    auto& carried = state.get<Carried>(first_);
    const Tensor y = layer_attention::pooled(in.x);
    carried.cell = shared_.unit()(y, carried.cell);
    refresh(carried, in.x.shape());
    carried.cache.keys.push_back(p_.key(y));
    carried.cache.values.push_back(p_.value(in.x));
    const Tensor k = layer_attention::stack(carried.cache.keys);
    const double scale = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
    const Tensor a = ops::softmax(ops::mul(ops::matmul(p_.query(y), k, false, true), scale));
    if (probe != nullptr) probe->record("attn", a);
    return p_.combine(a, layer_attention::stack(carried.cache.values), in.x);
  }

 private:
  struct Carried {
    CellState cell;
    layer_attention::Cache cache;
  };

  // The refreshed keys and values stay in the cache.
  void refresh(Carried& carried, const Shape& map) {
    const CellState from = carried.cache.keys.empty()
                               ? CellState{}
                               : layer_attention::refreshing(carried.cell, o_.dsu_state);
    for (Tensor& key : carried.cache.keys) {
      const Tensor flat = ops::reshape(key, {map[0], map[1]});
      key = p_.split(ops::mul(flat, shared_.unit()(flat, from).hidden));
    }
    for (Tensor& value : carried.cache.values) {
      const Tensor v = ops::reshape(value, map);
      const Tensor m = shared_.unit()(layer_attention::pooled(v), from).hidden;
      value = ops::reshape(ops::mul(v, layer_attention::channel_factor(m)), value.shape());
    }
  }

  DlaOptions o_;
  bool first_;
  Shared& shared_;
  layer_attention::Projections& p_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(dla_b, DlaB, kDlaB, layer_attention::dla_fields())
