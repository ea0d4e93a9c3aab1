// Transformer-VQ over layers: keys are replaced by the nearest code of a book that the layers of a
// stage share, with a straight-through gradient. A definition of this toolkit for a comparator
// without public code; the codes are fixed. kcla 2.8.

#include <cmath>

#include "autograd/mode.h"
#include "layer_attention/heads.h"
#include "nn/init.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct VqOptions : layer_attention::HeadOptions {
  std::int64_t codes = 4;
};

const layer_attention::Info kTransformerVq{.title = "Transformer-VQ layer attention",
                                           .source = "kcla 2.8, defined by this toolkit",
                                           .names = layer_attention::mrla_names()};

class TransformerVq final : public layer_attention::Headwise {
 public:
  class Shared final : public nn::Module {
   public:
    Shared(const Slot& slot, const VqOptions& o) {
      const std::int64_t dim = o.head_dim_for(slot.family);
      const std::int64_t heads = layer_attention::heads_of("transformer_vq", slot.channels, dim);
      codebook =
          buffer("codebook", nn::init_normal(slot.build.at("codebook"), {heads, o.codes, dim},
                                             1 / std::sqrt(static_cast<double>(dim))));
    }
    std::string type() const override { return "Codebook"; }
    Tensor codebook;  // (heads, codes, head_dim)
  };

  TransformerVq(const Slot& slot, const VqOptions& o)
      : Headwise("transformer_vq", slot, o, false), shared_(dynamic_cast<Shared&>(*slot.shared)) {}
  std::string type() const override { return "VqLayerAttention"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe* probe) override {
    auto& cache = state.get<layer_attention::Cache>(first());
    const Tensor y = layer_attention::pooled(in.x);
    cache.keys.push_back(quantised(p_.key(y)));
    cache.values.push_back(p_.value(in.x));
    const Tensor k = layer_attention::stack(cache.keys);
    const double scale = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
    const Tensor a = ops::softmax(ops::mul(ops::matmul(p_.query(y), k, false, true), scale));
    if (probe != nullptr) probe->record("attn", a);
    return p_.combine(a, layer_attention::stack(cache.values), in.x);
  }

 private:
  // k + (code - k) without the gradient of the difference. key: (b, heads, 1, head_dim).
  Tensor quantised(const Tensor& key) const {
    const Tensor k = ops::cast(key, shared_.codebook.dtype());
    Tensor difference;
    {
      const autograd::NoGrad no_grad;
      const Tensor& book = shared_.codebook;
      const std::int64_t heads = book.size(0);
      const std::int64_t codes = book.size(1);
      const Tensor apart = ops::sub(k, ops::reshape(book, {1, heads, codes, book.size(2)}));
      const Tensor nearest = ops::argmin(ops::sum(ops::square(apart), {3}));  // (b, heads)
      const Tensor index = ops::expand(ops::reshape(nearest, {k.size(0), heads, 1, 1}), k.shape());
      difference = ops::neg(ops::gather(apart, 2, index));
    }
    return ops::cast(ops::add(k, difference), key.dtype());
  }

  Shared& shared_;
};

}  // namespace

FOVEA_LAYER_ATTENTION(transformer_vq, TransformerVq, kTransformerVq,
                      fovea::schema::Fields<VqOptions>{}
                          .include(layer_attention::head_fields())
                          .add("codes", &VqOptions::codes, fovea::nn::channel_count(),
                               "codes of every head"))
