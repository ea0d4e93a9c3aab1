// Gated differential linear attention (GDLA): linear attentions on the two halves of every head,
// subtracted with a learned weight for each channel, normalised and gated; a second time on tokens
// that are mixed with their neighbours. gdla 2.4 to 2.6, names of the public code.
#include "attention/gated_differential_linear.h"

#include <fmt/format.h>

#include "attention/linear_forms.h"
#include "attention/two_maps.h"
#include "autograd/mode.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/sizes.h"
#include "ops/attention/linear_attention.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::attention {
namespace {

// Views of the packed projection; q2 and k2 only where there are two maps.
struct GdlaViews {
  ops::HeadView q, k, v;
  ops::HeadView q2 = {}, k2 = {};
  ops::HeadView gate = {};
};

GdlaViews views_of(const GdlaHeads& o, const Tensor& t) {
  const std::int64_t dim = t.size(-1) / (o.gate == Gate::kNone ? 3 : 4);
  const std::int64_t head_dim = dim / o.num_heads;
  const std::int64_t width = o.differential ? head_dim / 2 : head_dim;
  const auto heads = [&](std::int64_t channels, std::int64_t first) {
    return ops::heads(t, o.num_heads, channels, first, head_dim);
  };
  GdlaViews views{heads(width, 0), heads(width, dim), heads(head_dim, 2 * dim)};
  if (o.differential) {
    views.q2 = heads(width, width);
    views.k2 = heads(width, dim + width);
  }
  if (o.gate != Gate::kNone) views.gate = heads(head_dim, 3 * dim);
  return views;
}

void record(Probe& probe, const GdlaHeads& o, const GdlaViews& views, const Tensor& lambda,
            const ops::LinearAttentionOptions& options, Probe::Rows rows) {
  const autograd::NoGrad no_grad;
  const auto [first, count] = rows;
  const Tensor map1 = ops::linear_attention_map(views.q, views.k, options, first, count);
  if (!o.differential) {
    probe.record("attn", map1);
    return;
  }
  const Tensor map2 = ops::linear_attention_map(views.q2, views.k2, options, first, count);
  probe.record("attn1", map1);
  probe.record("attn2", map2);
  const Tensor weight = ops::reshape(ops::mean(lambda, {1}), {1, o.num_heads, 1, 1});
  record_difference(probe, map1, ops::mul(weight, map2));
}

}  // namespace

Tensor attend_gdla(const GdlaHeads& o, const Tensor& t, const Tensor& lambda,
                   const nn::RMSNorm& norm, const Context& context) {
  const GdlaViews views = views_of(o, t);
  const ops::LinearAttentionOptions options{.eps = o.eps, .key_mask = context.key_mask};
  if (const Probe::Rows rows = context.wanted_rows(); rows.count != 0)
    record(*context.probe, o, views, lambda, options, rows);
  const ops::HeadFinish finish{
      .weight = norm.weight(),
      .norm_eps = norm.eps(),
      .gate = views.gate,
      .gate_op = o.gate == Gate::kSigmoid ? UnaryOp::kSigmoid : UnaryOp::kSilu};
  const auto attend = [&](const ops::HeadFinish& behind) {
    if (!o.differential) return ops::linear_attention(views.q, views.k, views.v, options, behind);
    return ops::two_map_linear_attention(views.q, views.k, views.q2, views.k2, views.v, lambda,
                                         options, behind);
  };
  if (context.probe == nullptr || !context.probe->wants_values()) return attend(finish);
  return ops::finished(attended(context, attend({}), views.v, {}), finish);
}

LocalTokenMix::LocalTokenMix(const nn::Build& build, std::int64_t channels, std::int64_t kernel,
                             std::int64_t pointwise_groups)
    : dwc_(child<nn::TokenConv2d>("dwc", build, channels, kernel)),
      pwc_(child<nn::TokenPointwise>("pwc", build, channels, channels, true, pointwise_groups)) {}

Tensor LocalTokenMix::operator()(const Tensor& t, const Context& context) {
  const auto scope = enter();
  const std::int64_t prefix = context.prefix_tokens;
  const std::int64_t grid = t.size(1) - prefix;
  FOVEA_CHECK(grid == context.grid_h * context.grid_w, ShapeError,
              fmt::format("gated_differential_linear: {} tokens on a grid of {} x {}; local mixing "
                          "needs a grid, set local=false",
                          grid, context.grid_h, context.grid_w));
  const Tensor cells = prefix == 0 ? t : ops::slice(t, 1, prefix, grid);
  const Tensor mixed = pwc_(dwc_(cells, context.grid_h, context.grid_w));
  return prefix == 0 ? mixed : ops::concat({ops::slice(t, 1, 0, prefix), mixed}, 1);
}

}  // namespace fovea::attention

namespace {

using namespace fovea;
using attention::Context;
using attention::Gate;
using attention::GdlaHeads;
using attention::LocalTokenMix;
using attention::Slot;
using schema::at_least;
using schema::greater_than;

struct GdlaOptions {
  std::int64_t num_heads = 8;
  Gate gate = Gate::kSilu;
  bool differential = true;
  bool qkv_bias = true;
  bool proj_bias = true;
  bool local = true;
  std::int64_t dwc_kernel = 3;
  bool pwc_groups = false;
  double eps = 1e-6;
  double norm_eps = 1e-5;
};

const attention::Info kGdla{.title = "Gated differential linear attention",
                            .source = "gdla 2.6",
                            .map = attention::MapKind::kSigned,
                            .masks = true,
                            .needs_grid = true};

class GatedDifferentialLinear final : public attention::Attention {
 public:
  GatedDifferentialLinear(const Slot& slot, const GdlaOptions& o)
      : heads_{o.num_heads, o.gate, o.differential, o.eps},
        tensors_(o.gate == Gate::kNone ? 3 : 4),
        head_dim_(checked_head_dim(slot, o)),
        qkv_(child<nn::Linear>(o.gate == Gate::kNone ? "qkv" : "qkvg", slot.build, slot.dim,
                               tensors_ * slot.dim, o.qkv_bias)),
        ln_(child<nn::RMSNorm>("ln", slot.build, head_dim_, o.norm_eps)) {
    lambda_main_ = lambda("lambda_scale_main", slot);
    if (o.local) {
      mix_ = &child<LocalTokenMix>("", slot.build, tensors_ * slot.dim, o.dwc_kernel,
                                   o.pwc_groups ? tensors_ : 1);
      lambda_aux_ = lambda("lambda_scale_aux", slot);
    }
    const std::int64_t branches = o.local ? 2 : 1;
    out_proj_ =
        &child<nn::Linear>("out_proj", slot.build, branches * slot.dim, slot.dim, o.proj_bias);
  }
  std::string type() const override { return "GatedDifferentialLinearAttention"; }

 protected:
  Tensor forward(const Tensor& x, const Context& ctx) override {
    const Tensor t = qkv_(x);  // q | k | v | g
    const Tensor y = attention::attend_gdla(heads_, t, lambda_main_, ln_, ctx);
    if (mix_ == nullptr) return (*out_proj_)(y);
    Context unprobed;
    unprobed.key_mask = ctx.key_mask;
    const Tensor mixed = (*mix_)(attention::masked_tokens(t, ctx.key_mask), ctx);
    const Tensor local = attention::attend_gdla(heads_, mixed, lambda_aux_, ln_, unprobed);
    return (*out_proj_)(ops::concat({y, local}, -1));
  }

 private:
  static std::int64_t checked_head_dim(const Slot& slot, const GdlaOptions& o) {
    attention::check_heads("gated_differential_linear", slot.dim, o.num_heads,
                           o.differential ? 2 : 1);
    FOVEA_CHECK(o.dwc_kernel % 2 == 1, ConfigError,
                fmt::format("gated_differential_linear: dwc_kernel is {}; expected an odd number",
                            o.dwc_kernel));
    return slot.dim / o.num_heads;
  }

  // Near 0: the second map starts as good as switched off. gdla 2.4.
  Tensor lambda(const char* name, const Slot& slot) {
    if (!heads_.differential) return {};
    return parameter(name,
                     nn::init_normal(slot.build.at(name), {heads_.num_heads, head_dim_}, 0.1));
  }

  GdlaHeads heads_;
  std::int64_t tensors_;  // in the projection: q, k, v and g
  std::int64_t head_dim_;
  nn::Linear& qkv_;
  nn::RMSNorm& ln_;
  LocalTokenMix* mix_ = nullptr;
  nn::Linear* out_proj_ = nullptr;
  Tensor lambda_main_, lambda_aux_;
};

}  // namespace

FOVEA_ATTENTION(
    gated_differential_linear, GatedDifferentialLinear, kGdla,
    fovea::schema::Fields<GdlaOptions>{}
        .add("num_heads", &GdlaOptions::num_heads, at_least(1),
             "number of heads; twice it must divide dim, or itself if not differential")
        .add_enum("gate", &GdlaOptions::gate,
                  {{"none", Gate::kNone}, {"sigmoid", Gate::kSigmoid}, {"silu", Gate::kSilu}},
                  "function of the gate that multiplies the result: silu in the paper, sigmoid in "
                  "its public code")
        .add("differential", &GdlaOptions::differential,
             "two maps on the halves of each head; false: one on whole heads")
        .add("qkv_bias", &GdlaOptions::qkv_bias, "bias on the projection of q, k, v and the gate")
        .add("proj_bias", &GdlaOptions::proj_bias, "bias on the output projection")
        .add("local", &GdlaOptions::local,
             "attend a second time to tokens mixed with their neighbours")
        .add("dwc_kernel", &GdlaOptions::dwc_kernel, nn::side_length(),
             "side of the depthwise convolution of that mixing; odd")
        .add("pwc_groups", &GdlaOptions::pwc_groups,
             "its 1x1 convolution by groups, each of q, k, v and the gate alone (the paper's "
             "equations); false: one over all of them (its public code)")
        .add("eps", &GdlaOptions::eps, greater_than(0), "added to the denominators")
        .add("norm_eps", &GdlaOptions::norm_eps, greater_than(0),
             "epsilon of the RMS norm of heads"))
