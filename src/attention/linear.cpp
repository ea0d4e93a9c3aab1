// Multi-head linear attention with features elu(x) + 1, linear in the number of tokens. gdla 2.8.

#include "nn/linear.h"
#include "attention/rotary.h"
#include "autograd/mode.h"
#include "ops/linear_attention.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::at_least;
using schema::greater_than;

struct Options {
  std::int64_t num_heads = 8;
  bool qkv_bias = true;
  bool proj_bias = true;
  double eps = 1e-6;
  std::optional<double> rope_base;
};

// Rows sum to 1 but for eps. With rotary positions entries may be negative.
const attention::Info kInfo{.title = "Linear attention",
                            .source = "gdla 2.8; Katharopoulos et al., Transformers are RNNs",
                            .map = attention::MapKind::kStochastic,
                            .masks = false,
                            .needs_grid = false};

class Linear final : public attention::Attention {
 public:
  Linear(const Slot& slot, const Options& o)
      : num_heads_(o.num_heads),
        head_dim_(slot.dim / o.num_heads),
        eps_(o.eps),
        rotary_(o.rope_base, head_dim_),
        qkv_(child<nn::Linear>("qkv", slot.build, slot.dim, 3 * slot.dim, o.qkv_bias)),
        proj_(child<nn::Linear>("proj", slot.build, slot.dim, slot.dim, o.proj_bias)) {
    attention::check_heads("linear", slot.dim, o.num_heads, 1);
  }
  std::string type() const override { return "LinearAttention"; }

 protected:
  Tensor forward(const Tensor& x, const Context& ctx) override {
    const Tensor qkv = qkv_(x);  // (b, n, 3 dim), order q, k, v
    const std::int64_t dim = x.size(-1);
    Tensor qk = qkv;
    ops::LinearAttentionOptions options{.eps = eps_};
    if (rotary_.applies(ctx)) {  // after phi, as the public code does
      qk = rotary_(ops::elu_plus_one(ops::slice(qkv, -1, 0, 2 * dim)), ctx);
      options.feature_map = FeatureMap::kNone;
    }
    const ops::HeadView q = ops::heads(qk, num_heads_, head_dim_, 0, head_dim_);
    const ops::HeadView k = ops::heads(qk, num_heads_, head_dim_, dim, head_dim_);
    const ops::HeadView v = ops::heads(qkv, num_heads_, head_dim_, 2 * dim, head_dim_);
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record("attn", ops::linear_attention_map(q, k, options, first, count));
    }
    return proj_(ops::linear_attention(q, k, v, options));
  }

  // gdla 2.8 calls the output projection out_proj.
  std::string translated(const std::string& name) const override {
    return name.starts_with("out_proj.") ? "proj." + name.substr(9) : name;
  }

 private:
  std::int64_t num_heads_;
  std::int64_t head_dim_;
  double eps_;
  attention::Rotary rotary_;
  nn::Linear& qkv_;
  nn::Linear& proj_;
};

}  // namespace

FOVEA_ATTENTION(linear, Linear, kInfo,
                attention::add_rope<Options>(
                    fovea::schema::Fields<Options>{}
                        .add("num_heads", &Options::num_heads, at_least(1),
                             "number of heads; must divide dim")
                        .add("qkv_bias", &Options::qkv_bias, "bias on the fused q, k, v projection")
                        .add("proj_bias", &Options::proj_bias, "bias on the output projection")
                        .add("eps", &Options::eps, greater_than(0), "added to the denominator")))
