// Focused linear attention (Han et al., FLatten): features that keep the length of a vector and
// sharpen its direction, and a depthwise convolution of the values over the grid. mala 3.8, 9;
// names of the public code.

#include <fmt/format.h>

#include "attention/grid_tokens.h"
#include "attention/linear_forms.h"
#include "attention/qkv_attention.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "nn/convolution.h"
#include "nn/init.h"
#include "nn/sizes.h"
#include "ops/attention/linear_attention.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::at_least;

struct FocusedLinearOptions : attention::QkvOptions {
  double focusing_factor = 3;
  std::int64_t kernel_size = 5;
  double eps = 1e-6;
};

const attention::Info kFocusedLinear{.title = "Focused linear attention",
                                     .source = "mala 3.8; Han et al., FLatten Transformer",
                                     .map = attention::MapKind::kStochastic,
                                     .needs_grid = true};

class FocusedLinear final : public attention::QkvAttention {
 public:
  FocusedLinear(const Slot& slot, const FocusedLinearOptions& o)
      : QkvAttention("focused_linear", slot, o), factor_(o.focusing_factor), eps_(o.eps) {
    attention::check_grid_known("focused_linear", slot);
    FOVEA_CHECK(
        o.kernel_size % 2 == 1, ConfigError,
        fmt::format("focused_linear: kernel_size is {}; expected an odd number", o.kernel_size));
    const auto zeros = [&](const char* name, const Shape& shape) {
      return parameter(name, nn::init_constant(slot.build, shape, 0));
    };
    const auto& [prefix, h, w] = slot.layout;
    scale_ = zeros("scale", {1, 1, slot.dim});
    positions_ = zeros("positional_encoding", {1, prefix + h * w, slot.dim});
    dwc_ = &child<nn::TokenConv2d>("dwc", slot.build, head_dim(), o.kernel_size, true, num_heads());
  }
  std::string type() const override { return "FocusedLinearAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool) override {
    const Heads focused = with_queries_and_keys(features(queries_and_keys(heads)), heads);
    // The denominator is q . mean k + eps.
    const ops::LinearAttentionOptions options{.feature_map = FeatureMap::kNone,
                                              .eps = eps_ * static_cast<double>(heads.k.x.size(1))};
    if (const auto [first, count] = ctx.wanted_rows(); count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record("attn",
                        ops::linear_attention_map(focused.q, focused.k, options, first, count));
    }
    return ops::linear_attention(focused.q, focused.k, focused.v, options);
  }

  Tensor local_branch(const Tensor&, const ops::HeadView& v, const Context& ctx) override {
    const Tensor cells = attention::grid_tokens("focused_linear", attention::tokens_of(v), ctx);
    return attention::behind_prefix((*dwc_)(cells, ctx.grid_h, ctx.grid_w), ctx);
  }

 private:
  // (b, n, 2 dim) -> the same: the focusing map of queries, and of keys with their positions, each
  // over all heads.
  Tensor features(const Tensor& qk) const {
    const std::int64_t dim = scale_.size(2);
    FOVEA_CHECK(qk.size(1) == positions_.size(1), ShapeError,
                fmt::format("focused_linear: {} tokens; it was made for {}", qk.size(1),
                            positions_.size(1)));
    const Tensor only_keys = ops::pad(positions_, {{0, 0}, {0, 0}, {dim, 0}});
    const Tensor pairs = ops::reshape(ops::add(qk, only_keys), {qk.size(0), qk.size(1), 2, dim});
    return ops::reshape(attention::focused(pairs, ops::softplus(scale_), factor_), qk.shape());
  }

  double factor_;
  double eps_;
  Tensor scale_, positions_;
  nn::TokenConv2d* dwc_ = nullptr;
};

}  // namespace

FOVEA_ATTENTION(focused_linear, FocusedLinear, kFocusedLinear,
                attention::qkv_fields<FocusedLinearOptions>()
                    .add("focusing_factor", &FocusedLinearOptions::focusing_factor, at_least(1),
                         "power that features are raised to")
                    .add("kernel_size", &FocusedLinearOptions::kernel_size, nn::side_length(),
                         "side of the depthwise convolution of the values; odd")
                    .add("eps", &FocusedLinearOptions::eps, fovea::schema::greater_than(0),
                         "added to the denominators q . mean k"))
