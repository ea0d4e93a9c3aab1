// LiteMLA (Cai et al., EfficientViT): ReLU linear attention of the tokens and, as further heads, of
// their depthwise convolutions of several sizes. mala 3.9; names of the public code, which has maps
// in place of tokens.

#include <fmt/format.h>

#include "attention/grid_tokens.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "nn/convolution.h"
#include "nn/norm.h"
#include "ops/attention/linear_attention.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::at_least;

struct LiteMlaOptions {
  std::int64_t num_heads = 8;
  std::vector<std::int64_t> scales = {5};
  double eps = 1e-15;
};

// Where all features of a query are 0, so is its row of the map.
const attention::Info kLiteMla{.title = "LiteMLA, linear attention at several scales",
                               .source = "mala 3.9; Cai et al., EfficientViT",
                               .map = attention::MapKind::kStochastic,
                               .needs_grid = true};

class LiteMla final : public attention::Attention {
 public:
  LiteMla(const Slot& slot, const LiteMlaOptions& o)
      : num_heads_(o.num_heads), head_dim_(checked_head_dim(slot, o)), eps_(o.eps) {
    const std::int64_t width = 3 * slot.dim;
    qkv_ = &child<nn::TokenPointwise>("qkv.conv", slot.build, slot.dim, width, false);
    for (std::size_t i = 0; i < o.scales.size(); ++i) {
      const auto name = [i](int part) { return fmt::format("aggreg.{}.{}", i, part); };
      scales_.push_back(
          {&child<nn::TokenConv2d>(name(0), slot.build, width, o.scales[i], false),
           &child<nn::TokenPointwise>(name(1), slot.build, width, width, false, 3 * o.num_heads)});
    }
    const std::int64_t all = slot.dim * (1 + std::ssize(scales_));
    proj_ = &child<nn::TokenPointwise>("proj.conv", slot.build, all, slot.dim, false);
    norm_ = &child<nn::BatchNorm2d>("proj.norm", slot.build, slot.dim);
  }
  std::string type() const override { return "LiteMLA"; }

 protected:
  Tensor forward(const Tensor& x, const Context& ctx) override {
    const Tensor qkv = (*qkv_)(x);
    std::vector<Tensor> all = {qkv};
    for (const Scale& scale : scales_)
      all.push_back((*scale.pointwise)(mixed(*scale.depthwise, qkv, ctx)));
    const Tensor packed = ops::concat(all, -1);  // of each head q, k and v
    const std::int64_t heads = num_heads_ * std::ssize(all);
    const auto view = [&](std::int64_t part) {
      return ops::heads(packed, heads, head_dim_, part * head_dim_, 3 * head_dim_);
    };
    const ops::HeadView q = view(0);
    const ops::HeadView k = view(1);
    const ops::LinearAttentionOptions options{.feature_map = FeatureMap::kRelu, .eps = eps_};
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record("attn", ops::linear_attention_map(q, k, options, first, count));
    }
    const Tensor u = ops::linear_attention(q, k, view(2), options);
    return normed((*proj_)(attention::attended(ctx, u, view(2), {})));
  }

 private:
  struct Scale {
    nn::TokenConv2d* depthwise;
    nn::TokenPointwise* pointwise;
  };

  static std::int64_t checked_head_dim(const Slot& slot, const LiteMlaOptions& o) {
    attention::check_heads("lite_mla", slot.dim, o.num_heads, 1);
    for (const std::int64_t scale : o.scales)
      FOVEA_CHECK(scale % 2 == 1, ConfigError,
                  fmt::format("lite_mla: a scale is {}; expected odd numbers", scale));
    return slot.dim / o.num_heads;
  }

  static Tensor mixed(nn::TokenConv2d& conv, const Tensor& x, const Context& ctx) {
    const Tensor cells = conv(attention::grid_tokens("lite_mla", x, ctx), ctx.grid_h, ctx.grid_w);
    const std::int64_t prefix = ctx.prefix_tokens;
    return prefix == 0 ? cells : ops::concat({ops::slice(x, 1, 0, prefix), cells}, 1);
  }

  // The batch norm of maps, over all tokens.
  Tensor normed(const Tensor& x) {
    const Tensor map = ops::reshape(ops::transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1), 1});
    return ops::transpose(ops::reshape((*norm_)(map), {x.size(0), x.size(2), x.size(1)}), 1, 2);
  }

  std::int64_t num_heads_;
  std::int64_t head_dim_;
  double eps_;
  nn::TokenPointwise* qkv_ = nullptr;
  std::vector<Scale> scales_;
  nn::TokenPointwise* proj_ = nullptr;
  nn::BatchNorm2d* norm_ = nullptr;
};

}  // namespace

FOVEA_ATTENTION(
    lite_mla, LiteMla, kLiteMla,
    fovea::schema::Fields<LiteMlaOptions>{}
        .add("num_heads", &LiteMlaOptions::num_heads, at_least(1),
             "heads of each scale; must divide dim")
        .add("scales", &LiteMlaOptions::scales, at_least(1),
             "sides of the depthwise convolutions, odd; each brings as many heads again")
        .add("eps", &LiteMlaOptions::eps, fovea::schema::greater_than(0),
             "added to the denominators"))
