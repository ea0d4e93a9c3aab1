// Efficient attention (Shen et al.): queries are softmaxed over the channels of a head, keys over
// the tokens. mala 3.8, 6. Rows of the map sum to 1 by construction, so it is linear attention of
// these features, whose denominators are 1.

#include "attention/linear_forms.h"
#include "attention/qkv_attention.h"
#include "autograd/mode.h"
#include "ops/attention/linear_attention.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;

struct EfficientOptions : attention::QkvOptions {};

const attention::Info kEfficient{.title = "Efficient attention",
                                 .source = "mala 3.8; Shen et al., Efficient Attention",
                                 .map = attention::MapKind::kStochastic,
                                 .masks = true};

class Efficient final : public attention::QkvAttention {
 public:
  Efficient(const Slot& slot, const EfficientOptions& o) : QkvAttention("efficient", slot, o) {}
  std::string type() const override { return "EfficientAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool) override {
    const auto all = [&](const Tensor& x) {
      return ops::heads(x, num_heads(), head_dim(), 0, head_dim());
    };
    const auto q = all(attention::efficient_queries(attention::tokens_of(heads.q), head_dim()));
    const auto k = all(attention::efficient_keys(attention::tokens_of(heads.k), ctx.key_mask));
    // The epsilon vanishes beside 1, and keeps an item without keys from a division by 0.
    const ops::LinearAttentionOptions options{
        .feature_map = FeatureMap::kNone, .eps = 1e-30, .key_mask = ctx.key_mask};
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record("attn", ops::linear_attention_map(q, k, options, first, count));
    }
    return ops::linear_attention(q, k, heads.v, options);
  }
};

}  // namespace

FOVEA_ATTENTION(efficient, Efficient, kEfficient, attention::qkv_fields<EfficientOptions>())
