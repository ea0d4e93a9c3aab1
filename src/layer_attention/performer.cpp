// Performer over layers: trigonometric random features; keys and values are kept as in MRLA-B.
// kcla 2.8.

#include <cmath>

#include "layer_attention/heads.h"
#include "nn/init.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct PerformerOptions : layer_attention::HeadOptions {
  std::int64_t features = 16;
};

const layer_attention::Info kPerformer{.title = "Performer layer attention",
                                       .source = "kcla 2.8",
                                       .names = layer_attention::mrla_names()};

class Performer final : public layer_attention::Headwise {
 public:
  Performer(const Slot& slot, const PerformerOptions& o)
      : Headwise("performer", slot, o, true), features_(o.features) {
    const double stddev = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
    directions_ =
        buffer("W_proj", nn::init_normal(slot.build.at("W_proj"),
                                         {p_.num_heads(), p_.head_dim(), o.features / 2}, stddev));
  }
  std::string type() const override { return "PerformerLayerAttention"; }

 protected:
  // Features of all keys, also earlier ones, use this layer's matrix.
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe*) override {
    auto& cache = state.get<layer_attention::Cache>(first());
    const Tensor y = layer_attention::pooled(in.x);
    cache.keys.push_back(p_.key(y));
    cache.values.push_back(p_.value(in.x));
    const Tensor k = features(layer_attention::stack(cache.keys));
    const Tensor a = ops::matmul(features(p_.query(y)), k, false, true);
    return p_.combine(ops::as_activation(a, in.x), layer_attention::stack(cache.values), in.x);
  }

 private:
  // f(u) = sqrt(2 / m) [sin(u W), cos(u W)]: (b, heads, layers, head_dim) -> (..., m). Float32 in
  // mixed precision too, since terms of either sign are summed.
  Tensor features(const Tensor& u) const {
    const Tensor w =
        ops::expand(ops::reshape(directions_, {1, p_.num_heads(), p_.head_dim(), features_ / 2}),
                    {u.size(0), p_.num_heads(), p_.head_dim(), features_ / 2});
    const Tensor angles = ops::matmul(ops::cast(u, w.dtype()), w);
    return ops::mul(ops::concat({ops::sin(angles), ops::cos(angles)}, 3),
                    std::sqrt(2.0 / static_cast<double>(features_)));
  }

  std::int64_t features_;
  Tensor directions_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(performer, Performer, kPerformer,
                      fovea::schema::Fields<PerformerOptions>{}
                          .include(layer_attention::head_fields())
                          .add("features", &PerformerOptions::features, fovea::nn::channel_count(2),
                               "random features of a head, half of them sines")
                          .check([](const PerformerOptions& o) -> std::string {
                            return o.features % 2 == 0 ? "" : "features must be even";
                          }))
