// Multi-head linear attention with features elu(x) + 1, linear in the number of tokens. gdla 2.8.

#include "attention/qkv_attention.h"
#include "autograd/mode.h"
#include "ops/linear_attention.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::greater_than;

struct LinearOptions : attention::QkvOptions {
  double eps = 1e-6;
};

// Rows sum to 1 but for eps. With rotary positions entries may be negative.
const attention::Info kLinear{.title = "Linear attention",
                              .source = "gdla 2.8; Katharopoulos et al., Transformers are RNNs",
                              .map = attention::MapKind::kStochastic,
                              .masks = false,
                              .needs_grid = false};

class Linear final : public attention::QkvAttention {
 public:
  Linear(const Slot& slot, const LinearOptions& o) : QkvAttention("linear", slot, o), eps_(o.eps) {}
  std::string type() const override { return "LinearAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool rotated) override {
    const auto& [q, k, v] = heads;
    ops::LinearAttentionOptions options{.eps = eps_};
    if (rotated) options.feature_map = FeatureMap::kNone;
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record("attn", ops::linear_attention_map(q, k, options, first, count));
    }
    return ops::linear_attention(q, k, v, options);
  }

  // Positions come after phi, as in the public code.
  Tensor before_rotation(const Tensor& qk) const override { return ops::elu_plus_one(qk); }

 private:
  double eps_;
};

}  // namespace

FOVEA_ATTENTION(linear, Linear, kLinear,
                attention::add_rope<LinearOptions>(attention::qkv_fields<LinearOptions>().add(
                    "eps", &LinearOptions::eps, greater_than(0), "added to the denominators")))
