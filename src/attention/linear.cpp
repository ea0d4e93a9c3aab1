// Multi-head linear attention, linear in the number of tokens: with features elu(x) + 1 (gdla 2.8;
// mala 3.8, 3), and with ReLU as in EfficientViT (mala 3.8, 8).

#include "attention/qkv_attention.h"
#include "autograd/mode.h"
#include "ops/attention/linear_attention.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::greater_than;

struct LinearOptions : attention::QkvOptions {
  FeatureMap kernel = FeatureMap::kEluPlusOne;
  double eps = 1e-6;
};

// Rows sum to 1 but for eps. With rotary positions entries may be negative.
const attention::Info kLinear{.title = "Linear attention",
                              .source = "gdla 2.8; Katharopoulos et al., Transformers are RNNs",
                              .map = attention::MapKind::kStochastic,
                              .masks = true,
                              .needs_grid = false};

// Where all features of a query are 0, so is its row of the map.
const attention::Info kEnhancedLinear{.title = "Enhanced linear attention",
                                      .source = "mala 3.8; Cai et al., EfficientViT",
                                      .map = attention::MapKind::kStochastic,
                                      .masks = true,
                                      .ffn = "mix_ffn"};

class Linear final : public attention::QkvAttention {
 public:
  Linear(const Slot& slot, const LinearOptions& o)
      : QkvAttention("linear", slot, o), kernel_(o.kernel), eps_(o.eps) {}
  std::string type() const override { return "LinearAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool rotated) override {
    const auto& [q, k, v] = heads;
    const ops::LinearAttentionOptions options{.feature_map = rotated ? FeatureMap::kNone : kernel_,
                                              .eps = eps_,
                                              .key_mask = ctx.key_mask};
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record("attn", ops::linear_attention_map(q, k, options, first, count));
    }
    return ops::linear_attention(q, k, v, options);
  }

  // Positions come after phi, as in the public code.
  Tensor before_rotation(const Tensor& qk) const override { return ops::features(kernel_, qk); }

 private:
  FeatureMap kernel_;
  double eps_;
};

schema::Fields<LinearOptions> linear_fields(FeatureMap kernel, double eps) {
  LinearOptions defaults;
  defaults.kernel = kernel;
  defaults.eps = eps;
  return attention::add_rope<LinearOptions>(
      attention::qkv_fields(defaults)
          .add_enum("kernel", &LinearOptions::kernel,
                    {{"elu1", FeatureMap::kEluPlusOne},
                     {"relu", FeatureMap::kRelu},
                     {"exp", FeatureMap::kExp}},
                    "phi of queries and keys: elu(x) + 1, max(x, 0) or exp(x)")
          .add("eps", &LinearOptions::eps, greater_than(0), "added to the denominators"));
}

}  // namespace

FOVEA_ATTENTION(linear, Linear, kLinear, linear_fields(FeatureMap::kEluPlusOne, 1e-6))
FOVEA_ATTENTION(enhanced_linear, Linear, kEnhancedLinear, linear_fields(FeatureMap::kRelu, 1e-15))
