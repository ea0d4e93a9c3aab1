// Multi-head softmax attention in timm's layout, the baseline of every paper. dgsa 2.1, 2.4;
// gdla 2.7.

#include <cmath>

#include "attention/rotary.h"
#include "autograd/mode.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "ops/attention.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::at_least;
using schema::in_range;

struct Options {
  std::int64_t num_heads = 8;
  bool qkv_bias = true;
  bool proj_bias = true;
  double attn_drop = 0;
  std::optional<double> rope_base;
};

const attention::Info kInfo{.title = "Softmax attention",
                            .source = "dgsa 2.4; timm Attention",
                            .map = attention::MapKind::kStochastic,
                            .masks = true,
                            .needs_grid = false};

class Softmax final : public attention::Attention {
 public:
  Softmax(const Slot& slot, const Options& o)
      : num_heads_(o.num_heads),
        head_dim_(slot.dim / o.num_heads),
        rotary_(o.rope_base, head_dim_),
        qkv_(child<nn::Linear>("qkv", slot.build, slot.dim, 3 * slot.dim, o.qkv_bias)),
        proj_(child<nn::Linear>("proj", slot.build, slot.dim, slot.dim, o.proj_bias)) {
    attention::check_heads("softmax", slot.dim, o.num_heads, 1);
    if (o.attn_drop > 0) drop_ = &child<nn::Dropout>("attn_drop", slot.build, o.attn_drop);
  }
  std::string type() const override { return "SoftmaxAttention"; }

 protected:
  Tensor forward(const Tensor& x, const Context& ctx) override {
    const Tensor qkv = qkv_(x);  // (b, n, 3 dim), order q, k, v
    const std::int64_t dim = x.size(-1);
    const Tensor qk = rotary_.applies(ctx) ? rotary_(ops::slice(qkv, -1, 0, 2 * dim), ctx) : qkv;
    const ops::HeadView q = ops::heads(qk, num_heads_, head_dim_, 0, head_dim_);
    const ops::HeadView k = ops::heads(qk, num_heads_, head_dim_, dim, head_dim_);
    const ops::HeadView v = ops::heads(qkv, num_heads_, head_dim_, 2 * dim, head_dim_);
    const ops::AttentionOptions options{1 / std::sqrt(static_cast<double>(head_dim_)), ctx.causal,
                                        ctx.key_mask};
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record("attn", ops::attention_map(q, k, options, first, count));
    }
    if (drop_ != nullptr && training()) {
      const Tensor map = (*drop_)(ops::attention_map(q, k, options));
      return proj_(ops::merge_heads(ops::matmul(map, ops::take_heads(v))));
    }
    return proj_(ops::attention(q, k, v, options));
  }

  // gdla 2.7 and PyTorch call the output projection out_proj.
  std::string translated(const std::string& name) const override {
    return name.starts_with("out_proj.") ? "proj." + name.substr(9) : name;
  }

 private:
  std::int64_t num_heads_;
  std::int64_t head_dim_;
  attention::Rotary rotary_;
  nn::Linear& qkv_;
  nn::Linear& proj_;
  nn::Dropout* drop_ = nullptr;
};

}  // namespace

FOVEA_ATTENTION(softmax, Softmax, kInfo,
                attention::add_rope<Options>(
                    fovea::schema::Fields<Options>{}
                        .add("num_heads", &Options::num_heads, at_least(1),
                             "number of heads; must divide dim")
                        .add("qkv_bias", &Options::qkv_bias, "bias on the fused q, k, v projection")
                        .add("proj_bias", &Options::proj_bias, "bias on the output projection")
                        .add("attn_drop", &Options::attn_drop, in_range(0, 0.99),
                             "dropout on attention weights")))
