// Reformer over layers: queries are the keys, and a layer sees those in the same bucket of a random
// rotation. A definition of this toolkit for a comparator without public code. kcla 2.8.

#include <cmath>

#include "autograd/mode.h"
#include "layer_attention/heads.h"
#include "nn/init.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct ReformerOptions : layer_attention::HeadOptions {
  std::int64_t buckets = 4;
};

const layer_attention::Info kReformer{.title = "Reformer layer attention",
                                      .source = "kcla 2.8, defined by this toolkit",
                                      .names = layer_attention::mrla_names()};

class Reformer final : public layer_attention::Headwise {
 public:
  Reformer(const Slot& slot, const ReformerOptions& o)
      : Headwise("reformer", slot, o, false, false),
        rotation_(
            buffer("R", nn::init_normal(slot.build.at("R"), {p_.head_dim(), o.buckets / 2}, 1))) {}
  std::string type() const override { return "ReformerLayerAttention"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe* probe) override {
    auto& seen = state.get<Seen>(first());
    layer_attention::Cache& cache = seen.cache;
    const Tensor q = p_.query(layer_attention::pooled(in.x));
    cache.keys.push_back(unit(q));
    cache.values.push_back(p_.value(in.x));
    seen.buckets.push_back(bucket(q));
    const Tensor k = layer_attention::stack(cache.keys);
    const double scale = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
    const Tensor a =
        ops::softmax(ops::mul(ops::matmul(q, k, false, true), scale), same_bucket(seen.buckets));
    if (probe != nullptr) probe->record("attn", a);
    return p_.combine(a, layer_attention::stack(cache.values), in.x);
  }

 private:
  struct Seen {
    layer_attention::Cache cache;
    std::vector<Tensor> buckets;  // (b, heads, 1), each found with the rotation of its own layer
  };

  static Tensor unit(const Tensor& q) {
    return ops::div(q, ops::sqrt(ops::clamp(ops::sum(ops::square(q), {3}, true), 1e-24, 1e30)));
  }
  // argmax [u R, -u R]: (b, heads, layers, head_dim) -> (b, heads, layers).
  Tensor bucket(const Tensor& u) const {
    const autograd::NoGrad no_grad;
    const Tensor turned = ops::matmul(ops::cast(u, rotation_.dtype()), rotation_);
    return ops::argmax(ops::concat({turned, ops::neg(turned)}, 3));
  }
  // (b heads, layers): 1 where a key is in the bucket of the last one, which is the query's.
  static Tensor same_bucket(const std::vector<Tensor>& buckets) {
    const autograd::NoGrad no_grad;
    const Tensor same = ops::equal(layer_attention::stack(buckets), buckets.back());
    return ops::reshape(same, {same.size(0) * same.size(1), same.size(2)});
  }

  Tensor rotation_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(reformer, Reformer, kReformer,
                      fovea::schema::Fields<ReformerOptions>{}
                          .include(layer_attention::head_fields())
                          .add("buckets", &ReformerOptions::buckets, fovea::nn::channel_count(2),
                               "buckets of the random rotation")
                          .check([](const ReformerOptions& o) -> std::string {
                            return o.buckets % 2 == 0 ? "" : "buckets must be even";
                          }))
