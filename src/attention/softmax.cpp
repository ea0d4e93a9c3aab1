// Multi-head softmax attention in timm's layout, the baseline of every paper. dgsa 2.1, 2.4;
// gdla 2.7.

#include <cmath>

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
};

const attention::Info kSoftmax{.title = "Softmax attention",
                               .source = "dgsa 2.4; timm Attention",
                               .map = attention::MapKind::kStochastic,
                               .masks = true,
                               .needs_grid = false};

class Softmax final : public attention::QkvAttention {
 public:
  Softmax(const Slot& slot, const SoftmaxOptions& o) : QkvAttention("softmax", slot, o) {
    if (o.attn_drop > 0) drop_ = &child<nn::Dropout>("attn_drop", slot.build, o.attn_drop);
  }
  std::string type() const override { return "SoftmaxAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool) override {
    const auto& [q, k, v] = heads;
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
  nn::Dropout* drop_ = nullptr;
};

}  // namespace

FOVEA_ATTENTION(softmax, Softmax, kSoftmax,
                attention::add_rope<SoftmaxOptions>(attention::qkv_fields<SoftmaxOptions>().add(
                    "attn_drop", &SoftmaxOptions::attn_drop, in_range(0, 0.99),
                    "dropout on attention weights")))
