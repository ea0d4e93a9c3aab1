// Standard layer attention: keys and values of all earlier layers are made again with the current
// layer's weights. kcla 2.1, Eq. 2 and 3.

#include <cmath>

#include "layer_attention/heads.h"
#include "layer_attention/paper_counts.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"

namespace {

using namespace fovea;
using layer_attention::Family;
using layer_attention::Slot;

struct StandardOptions : layer_attention::HeadOptions {
  std::optional<bool> replace;
};

const layer_attention::Info kStandard{
    .title = "Standard layer attention",
    .source = "kcla 2.1, Eq. 2-3",
    .names = {{{.stage = "stages", .core = "mrla.mrla", .norm = "bn_mrla"},
               {.core = "la", .norm = "bn_la"},
               {.blocks = "layers", .core = "mrla.mrla", .norm = "bn_mrla"}}}};

class Standard final : public layer_attention::Headwise {
 public:
  // The ImageNet form ("eq4" in its public code) replaces the block's output.
  Standard(const Slot& slot, const StandardOptions& o) : Headwise("standard", slot, o, false) {
    join_.replace = o.replace.value_or(slot.family == Family::kImageNet);
    if (!o.relu_after_bn) join_.relu = slot.bottleneck && !join_.replace;
  }
  std::string type() const override { return "StandardLayerAttention"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe* probe) override {
    auto& seen = state.get<layer_attention::History>(first());
    seen.add(layer_attention::pooled(in.x), in.x);
    // In that code every layer pools all maps for its keys, and its own again for its query.
    layer_attention::count_pooling(in.x, std::ssize(seen.maps));
    const Tensor q = p_.query(seen.pooled.back());
    const auto [k, v] = recomputed(seen);
    const double scale = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
    const Tensor a = ops::softmax(ops::mul(ops::matmul(q, k, false, true), scale));
    if (probe != nullptr) {
      probe->record("keys", k);
      probe->record("attn", a);
    }
    return p_.combine(a, v, in.x);
  }
};

}  // namespace

FOVEA_LAYER_ATTENTION(standard, Standard, kStandard,
                      fovea::schema::Fields<StandardOptions>{}
                          .include(layer_attention::head_fields())
                          .add("replace", &StandardOptions::replace,
                               "the result replaces the block's output instead of being added; "
                               "null = for ImageNet (the older public code), else not"))
