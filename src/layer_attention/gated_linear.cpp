// Gated linear attention over layers: the running sum of K^T V decays by a gate of every key
// channel. A definition of this toolkit for a comparator without public code. kcla 2.8.

#include <cmath>

#include "layer_attention/heads.h"
#include "layer_attention/running.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct GatedLinearOptions : layer_attention::HeadOptions {
  double tau = 16;
};

const layer_attention::Info kGatedLinear{.title = "Gated linear layer attention",
                                         .source = "kcla 2.8, defined by this toolkit",
                                         .names = layer_attention::mrla_names()};

class GatedLinear final : public layer_attention::Headwise {
 public:
  GatedLinear(const Slot& slot, const GatedLinearOptions& o)
      : Headwise("gated_linear", slot, o, false),
        tau_(o.tau),
        gate_(child<layer_attention::ChannelConv>(
            "Wg", slot.build, layer_attention::channel_kernel(slot.channels))) {}
  std::string type() const override { return "GatedLinearLayerAttention"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe*) override {
    auto& s = state.get<Tensor>(first());  // (b, heads, head_dim, n)
    const Tensor y = layer_attention::pooled(in.x);
    const Tensor product = ops::matmul(p_.key(y), p_.value(in.x), true, false);
    s = s.defined() ? ops::add_product(product, alpha(y), s) : product;
    const double scale = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
    return p_.combine(ops::mul(p_.query(y), scale), s, in.x);
  }

 private:
  // sigmoid(gate)^(1 / tau): (b, heads, head_dim, 1). As exp(-softplus(-u) / tau) it is never zero
  // before the root.
  Tensor alpha(const Tensor& y) {
    const Tensor log_gate = ops::neg(ops::softplus(ops::neg(gate_(y))));
    return ops::reshape(ops::exp(ops::mul(log_gate, 1 / tau_)),
                        {y.size(0), p_.num_heads(), p_.head_dim(), 1});
  }

  double tau_;
  layer_attention::ChannelConv& gate_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(gated_linear, GatedLinear, kGatedLinear,
                      fovea::schema::Fields<GatedLinearOptions>{}
                          .include(layer_attention::head_fields())
                          .add("tau", &GatedLinearOptions::tau, fovea::schema::greater_than(0),
                               "the gate is sigmoid(...)^(1 / tau)"))
