// Hydra attention over layers: as many heads as channels, so that the sum over layers is one map.
// kcla 2.8.

#include "layer_attention/heads.h"
#include "layer_attention/running.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Form;
using layer_attention::Slot;

struct HydraOptions {
  Form form = Form::kRecompute;
  double drop_path = 0.2;
  std::optional<bool> relu_after_bn;
};

const layer_attention::Info kHydra{
    .title = "Hydra layer attention", .source = "kcla 2.8", .names = layer_attention::mrla_names()};

layer_attention::HeadOptions head_options(const HydraOptions& o) {
  layer_attention::HeadOptions heads;
  heads.head_dim = 1;
  heads.drop_path = o.drop_path;
  heads.relu_after_bn = o.relu_after_bn;
  return heads;
}

// (b, c) divided by its norm over all channels, as a factor of maps (b, c, 1, 1).
Tensor direction(const Tensor& u) {
  // Differentiable at zero, where the result is zero.
  const Tensor squares = ops::clamp(ops::sum(ops::square(u), {1}, true), 1e-24, 1e30);
  const Tensor unit = ops::div(u, ops::sqrt(squares));
  return ops::reshape(unit, {u.size(0), u.size(1), 1, 1});
}

class Hydra final : public layer_attention::Headwise {
 public:
  Hydra(const Slot& slot, const HydraOptions& o)
      : Headwise("hydra", slot, head_options(o), false), form_(o.form) {}
  std::string type() const override { return "HydraLayerAttention"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe*) override {
    const Tensor y = layer_attention::pooled(in.x);
    const Tensor q = direction(p_.flat_query(y));
    if (form_ == Form::kRecurrent) {
      auto& sum = state.get<Tensor>(first());
      add(sum, y, in.x);
      return ops::mul(q, sum);
    }
    auto& seen = state.get<layer_attention::History>(first());
    seen.add(y, in.x);
    Tensor sum;
    for (std::size_t i = 0; i < seen.maps.size(); ++i) add(sum, seen.pooled[i], seen.maps[i]);
    return ops::mul(q, sum);
  }

 private:
  // sum += k v.
  void add(Tensor& sum, const Tensor& y, const Tensor& x) {
    const Tensor k = direction(p_.flat_key(y));
    const Tensor v = p_.value_map(x);
    sum = sum.defined() ? ops::add_product(sum, k, v) : ops::mul(k, v);
  }

  Form form_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(hydra, Hydra, kHydra,
                      fovea::schema::Fields<HydraOptions>{}
                          .add_enum("form", &HydraOptions::form, layer_attention::form_names(),
                                    layer_attention::kFormHelp)
                          .add("drop_path", &HydraOptions::drop_path,
                               fovea::schema::in_range(0, 0.99),
                               "probability of dropping the result for a whole sample in training")
                          .add("relu_after_bn", &HydraOptions::relu_after_bn,
                               "ReLU behind the batch norm of the result; null = as published"))
