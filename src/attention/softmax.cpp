// Multi-head softmax attention in timm's layout, the baseline of every paper, and the same with
// queries of length 1. dgsa 2.1, 2.4; gdla 2.7; mala 3.8, 1 and 2.

#include <cmath>

#include "attention/linear_forms.h"
#include "attention/qkv_attention.h"
#include "autograd/mode.h"
#include "nn/dropout.h"
#include "ops/linear.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::in_range;

struct SoftmaxOptions : attention::QkvOptions {
  double attn_drop = 0;
  bool q_norm = false;
};

const attention::Info kSoftmax{.title = "Softmax attention",
                               .source = "dgsa 2.4; timm Attention",
                               .map = attention::MapKind::kStochastic,
                               .masks = true,
                               .needs_grid = false};

const attention::Info kSoftmaxQnorm{.title = "Softmax attention with queries of length 1",
                                    .source = "mala 3.8, table 1",
                                    .map = attention::MapKind::kStochastic,
                                    .masks = true,
                                    .needs_grid = false};

class Softmax final : public attention::QkvAttention {
 public:
  Softmax(const Slot& slot, const SoftmaxOptions& o)
      : QkvAttention("softmax", slot, o), q_norm_(o.q_norm) {
    if (o.attn_drop > 0) drop_ = &child<nn::Dropout>("attn_drop", slot.build, o.attn_drop);
  }
  std::string type() const override { return "SoftmaxAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool) override {
    const auto& [q, k, v] = q_norm_ ? with_unit_queries(heads) : heads;
    const ops::AttentionOptions options{1 / std::sqrt(static_cast<double>(head_dim())), ctx.causal,
                                        ctx.key_mask};
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record("attn", ops::attention_map(q, k, options, first, count));
    }
    if (drop_ != nullptr && training()) {
      const Tensor map = (*drop_)(ops::attention_map(q, k, options));
      return ops::merge_heads(ops::matmul(map, ops::take_heads(v)));
    }
    return ops::attention(q, k, v, options);
  }

 private:
  // The scale stays 1 / sqrt(d).
  Heads with_unit_queries(const Heads& heads) const {
    const Tensor q = attention::unit_vectors(attention::tokens_of(heads.q), head_dim());
    return {ops::heads(q, num_heads(), head_dim(), 0, head_dim()), heads.k, heads.v};
  }

  bool q_norm_;
  nn::Dropout* drop_ = nullptr;
};

schema::Fields<SoftmaxOptions> softmax_fields(bool q_norm) {
  SoftmaxOptions defaults;
  defaults.q_norm = q_norm;
  return attention::add_rope<SoftmaxOptions>(
      attention::qkv_fields(defaults)
          .add("attn_drop", &SoftmaxOptions::attn_drop, in_range(0, 0.99),
               "dropout on attention weights")
          .add("q_norm", &SoftmaxOptions::q_norm, "queries divided by their length, head by head")
          .add("qk_norm", &SoftmaxOptions::qk_norm,
               "queries and keys normed head by head, with weights of their own and the kind and "
               "epsilon of the network's norms"));
}

}  // namespace

FOVEA_ATTENTION(softmax, Softmax, kSoftmax, softmax_fields(false))
FOVEA_ATTENTION(softmax_qnorm, Softmax, kSoftmaxQnorm, softmax_fields(true))
