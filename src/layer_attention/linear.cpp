// Linear attention over layers, phi = elu + 1: every layer computes all keys and values again,
// without normalisation, or there is a running sum of their products. kcla 2.8.

#include "ops/linear.h"
#include "layer_attention/heads.h"
#include "layer_attention/running.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Form;
using layer_attention::Slot;

struct LinearOptions : layer_attention::HeadOptions {
  LinearOptions() { head_dim = 8; }
  Form form = Form::kRecompute;
  double eps = 1e-6;
};

const layer_attention::Info kLinear{.title = "Linear layer attention",
                                    .source = "kcla 2.8",
                                    .names = layer_attention::mrla_names()};

Tensor phi(const Tensor& u) { return ops::add(ops::elu(u), 1.0); }

class LinearAttention final : public layer_attention::Headwise {
 public:
  LinearAttention(const Slot& slot, const LinearOptions& o)
      : Headwise("linear", slot, o, false), form_(o.form), eps_(o.eps) {}
  std::string type() const override { return "LinearLayerAttention"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe*) override {
    const Tensor y = layer_attention::pooled(in.x);
    if (form_ == Form::kRecurrent) {
      auto& sums = state.get<layer_attention::RunningSums>(first());
      sums.add(phi(p_.key(y)), p_.value(in.x));
      return ops::reshape(sums.normalised(phi(p_.query(y)), eps_), in.x.shape());
    }
    auto& seen = state.get<layer_attention::History>(first());
    seen.add(y, in.x);
    const auto [k, v] = recomputed(seen, [&](const Tensor& one) { return phi(p_.key(one)); });
    return p_.combine(ops::matmul(phi(p_.query(y)), k, false, true), v, in.x);
  }

 private:
  Form form_;
  double eps_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(linear, LinearAttention, kLinear,
                      fovea::schema::Fields<LinearOptions>{}
                          .include(layer_attention::head_fields(LinearOptions{}))
                          .add_enum("form", &LinearOptions::form, layer_attention::form_names(),
                                    layer_attention::kFormHelp)
                          .add("eps", &LinearOptions::eps, fovea::schema::at_least(0),
                               "added to the sum of keys (recurrent)"))
