// Hydra attention (Bolya et al.): as many heads as channels, so that keys and values enter only as
// their elementwise product, summed over the tokens. mala 3.8, 5.

#include "attention/linear_forms.h"
#include "attention/qkv_attention.h"
#include "autograd/mode.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;

struct HydraOptions : attention::QkvOptions {};

const attention::Info kHydra{.title = "Hydra attention",
                             .source = "mala 3.8; Bolya et al., Hydra Attention",
                             .map = attention::MapKind::kSigned,
                             .masks = true};

class Hydra final : public attention::QkvAttention {
 public:
  Hydra(const Slot& slot, const HydraOptions& o) : QkvAttention("hydra", slot, o) {}
  std::string type() const override { return "HydraAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool) override {
    const Tensor qk = queries_and_keys(heads);
    const std::int64_t dim = qk.size(-1) / 2;
    const Tensor q = ops::slice(qk, -1, 0, dim);
    const Tensor k = attention::masked_tokens(ops::slice(qk, -1, dim, dim), ctx.key_mask);
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record_signed(map(q, k, first, count));
    }
    return attention::hydra_attention(q, k, attention::tokens_of(heads.v));
  }
  bool applies_its_map() const override { return false; }

 private:
  // The map of channel c is q_ic k_jc (mala 9). Recorded are means over num_heads runs of channels.
  Tensor map(const Tensor& q, const Tensor& k, std::int64_t first, std::int64_t count) const {
    const std::int64_t dim = q.size(-1);
    const auto heads = [&](const Tensor& x) {
      return ops::take_heads(
          ops::heads(attention::unit_vectors(x, dim), num_heads(), head_dim(), 0, head_dim()));
    };
    const Tensor rows = ops::slice(q, 1, first, count < 0 ? q.size(1) - first : count);
    return ops::mul(ops::matmul(heads(rows), heads(k), false, true),
                    1 / static_cast<double>(head_dim()));
  }
};

}  // namespace

FOVEA_ATTENTION(hydra, Hydra, kHydra,
                attention::add_biases(
                    fovea::schema::Fields<HydraOptions>{}
                        .add("num_heads", &HydraOptions::num_heads, fovea::schema::at_least(1),
                             "maps that are shown, each the mean over dim / num_heads of the dim "
                             "heads; must divide dim")
                        .no_effect()))
