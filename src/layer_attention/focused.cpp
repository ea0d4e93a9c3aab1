// Focused (FLatten) linear attention over layers. kcla 2.8.

#include <cmath>

#include "layer_attention/heads.h"
#include "layer_attention/running.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Form;
using layer_attention::Slot;

struct FocusedOptions : layer_attention::HeadOptions {
  Form form = Form::kRecompute;
  double focusing_factor = 2;
  double eps = 1e-6;
};

const layer_attention::Info kFocused{.title = "Focused linear layer attention",
                                     .source = "kcla 2.8",
                                     .names = layer_attention::mrla_names()};

class Focused final : public layer_attention::Headwise {
 public:
  Focused(const Slot& slot, const FocusedOptions& o)
      : Headwise("focused", slot, o, false),
        o_(o),
        position_(
            parameter("positional_encoding",
                      nn::init_constant(slot.build,
                                        o.form == Form::kRecompute ? Shape{1, slot.channels, 1, 1}
                                                                   : Shape{1, 1, slot.channels},
                                        0))),
        scale_(parameter("scale", nn::init_constant(slot.build, {1, 1, slot.channels}, 0))) {}
  std::string type() const override { return "FocusedLayerAttention"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe*) override {
    return o_.form == Form::kRecompute ? recompute(in.x, state) : recurrent(in.x, state);
  }

 private:
  static Tensor norm(const Tensor& x) { return ops::sqrt(ops::sum(ops::square(x), {1}, true)); }

  // F(u) = v^p |v| / |v^p|, v = (relu(u) + 1e-6) / softplus(scale), norms over all channels; then
  // heads. u: (b, c).
  Tensor focus(const Tensor& u) const {
    const Tensor flat_scale = ops::reshape(scale_, {1, scale_.size(2)});
    const Tensor v = ops::div(ops::add(ops::relu(u), 1e-6), ops::softplus(flat_scale));
    const Tensor sharp = o_.focusing_factor == 2 ? ops::square(v) : ops::pow(v, o_.focusing_factor);
    // v is positive, so are both norms.
    return p_.split(ops::mul(sharp, ops::div(norm(v), norm(sharp))));
  }

  // The map is shifted first, and kept shifted.
  Tensor recompute(const Tensor& x, layer_attention::State& state) {
    auto& seen = state.get<layer_attention::History>(first());
    const Tensor shifted = ops::add(x, position_);
    seen.add(layer_attention::pooled(shifted), shifted);
    const auto [k, v] = recomputed(seen, [&](const Tensor& y) { return focus(p_.flat_key(y)); });
    const Tensor q = focus(p_.flat_query(seen.pooled.back()));
    return p_.combine(ops::matmul(q, k, false, true), v, x);
  }

  // Keys alone are shifted.
  Tensor recurrent(const Tensor& x, layer_attention::State& state) {
    auto& sums = state.get<layer_attention::RunningSums>(first());
    const Tensor y = layer_attention::pooled(x);
    const Tensor shift = ops::reshape(position_, {1, position_.size(2)});
    sums.add(focus(ops::add(p_.flat_key(y), shift)), p_.value(x));
    return ops::reshape(sums.normalised(focus(p_.flat_query(y)), o_.eps), x.shape());
  }

  FocusedOptions o_;
  Tensor position_, scale_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(focused, Focused, kFocused,
                      fovea::schema::Fields<FocusedOptions>{}
                          .include(layer_attention::head_fields())
                          .add_enum("form", &FocusedOptions::form, layer_attention::form_names(),
                                    layer_attention::kFormHelp)
                          .add("focusing_factor", &FocusedOptions::focusing_factor,
                               fovea::schema::at_least(1), "power that sharpens queries and keys")
                          .add("eps", &FocusedOptions::eps, fovea::schema::at_least(0),
                               "added to the sum of keys (recurrent)"))
