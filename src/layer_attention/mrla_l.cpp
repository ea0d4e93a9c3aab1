// MRLA-L: the light form, whose only state is one map. kcla 2.3, Eq. 5 and 6.

#include <cmath>

#include "layer_attention/light.h"
#include "nn/init.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace fovea::layer_attention {

Light::Light(const nn::Build& build, std::int64_t channels, std::int64_t num_heads,
             const char* inner)
    : lambda_(parameter("lambda_t", nn::init_normal(build.at("lambda_t"), {channels, 1, 1}, 1))),
      p_(child<Projections>(inner, build, channels, num_heads)) {}

Tensor Light::operator()(const Tensor& x, const Tensor& y, const Tensor& previous,
                         attention::Probe* probe) {
  const auto scope = enter();
  const double scale = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
  const Tensor product = ops::matmul(p_.query(y), p_.key(y), false, true);
  const Tensor a =
      ops::reshape(ops::sigmoid(ops::mul(product, scale)), {x.size(0), p_.num_heads()});
  if (probe != nullptr) probe->record("gate", a);
  return ops::add_product(p_.gated_value(x, a), lambda_, previous);
}

namespace {

enum class Previous { kShortcut, kAttention };

struct MrlaLOptions : HeadOptions {
  MrlaLOptions() { head_dim = std::nullopt; }
  Previous previous = Previous::kShortcut;
};

const Info kMrlaL{.title = "Multi-head recurrent layer attention, light",
                  .source = "kcla 2.3, Eq. 5-6",
                  .names = {{{.core = "mrla", .norm = "bn_mrla"},
                             {.core = "mrla", .norm = "bn_mrla"},
                             {.blocks = "layers", .core = "mrla", .norm = "bn_mrla"}}}};

class MrlaL final : public LayerAttention {
 public:
  MrlaL(const Slot& slot, const MrlaLOptions& o)
      : o_(o),
        first_(slot.layer == 0),
        light_(child<Light>("", slot.build, slot.channels,
                            heads_of("mrla_l", slot.channels, o.head_dim_for(slot.family)),
                            "mrla")) {}
  std::string type() const override { return "MRLA-L"; }
  Join join() const override {
    return {.relu = o_.relu_after_bn.value_or(false), .drop_path = o_.drop_path};
  }

 protected:
  Tensor forward(const Layer& in, State& state, attention::Probe* probe) override {
    if (o_.previous == Previous::kShortcut) {
      return light_(in.x, pooled(in.x), in.shortcut, probe);
    }
    auto& previous = state.get<Tensor>(first_);
    // Zeros instead of an undefined tensor: lambda then has a gradient in every layer.
    if (!previous.defined()) previous = ops::zeros_like(in.x.detach());
    previous = light_(in.x, pooled(in.x), previous, probe);
    return previous;
  }

 private:
  MrlaLOptions o_;
  bool first_;
  Light& light_;
};

}  // namespace
}  // namespace fovea::layer_attention

namespace {
using namespace fovea::layer_attention;
}  // namespace

FOVEA_LAYER_ATTENTION(
    mrla_l, MrlaL, kMrlaL,
    fovea::schema::Fields<MrlaLOptions>{}
        .include(head_fields(MrlaLOptions{}))
        .add_enum("previous", &MrlaLOptions::previous,
                  {{"shortcut", Previous::kShortcut}, {"attention", Previous::kAttention}},
                  "what lambda scales: the block's shortcut (public code), or the attention output "
                  "of the layer before, zero at first (equation 6)"))
