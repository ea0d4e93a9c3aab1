#include "models/pyramids/mavit_attention.h"

#include <fmt/format.h>

#include <cmath>

#include "autograd/mode.h"
#include "base/error.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

std::int64_t checked_head_dim(std::int64_t dim, std::int64_t num_heads) {
  attention::check_heads("mavit", dim, num_heads, 1);
  return dim / num_heads;
}

}  // namespace

schema::Fields<MavitAttentionOptions> mavit_attention_fields() {
  using O = MavitAttentionOptions;
  return schema::Fields<O>{}
      .include(attention::mala_fields())
      .add("lepe", &O::lepe, schema::at_least(0),
           "side of the depthwise convolution of the values that is added to the result; odd, 0 = "
           "none")
      .add("gate", &O::gate, "multiply the result by a fourth part of the projection")
      .add_enum("rope", &O::rope,
                {{"none", attention::RotaryKind::kNone}, {"2d", attention::RotaryKind::kGrid}},
                "rotary positions on the grid, of features or of softmax's queries and keys");
}

SplitPointwise::SplitPointwise(const nn::Build& build, std::int64_t in,
                               std::vector<std::int64_t> widths)
    : widths_(std::move(widths)) {
  std::int64_t out = 0;
  for (const std::int64_t width : widths_) out += width;
  weight_ = parameter("weight", nn::init_conv_weight(build.at("weight"), {out, in, 1, 1}));
  bias_ = parameter("bias", nn::init_bias(build.at("bias"), out, in));
}

std::vector<Tensor> SplitPointwise::operator()(const Tensor& x) {
  const auto scope = enter();
  const Tensor weight = ops::reshape(weight_, {weight_.size(0), weight_.size(1)});
  std::vector<Tensor> parts;
  std::int64_t first = 0;
  for (const std::int64_t width : widths_) {
    parts.push_back(
        ops::linear(x, ops::slice(weight, 0, first, width), ops::slice(bias_, 0, first, width)));
    first += width;
  }
  return parts;
}

MavitAttention::MavitAttention(const nn::Build& build, std::int64_t dim, std::int64_t num_heads,
                               MavitMechanism mechanism, const MavitAttentionOptions& o)
    : o_(o),
      dim_(dim),
      num_heads_(num_heads),
      head_dim_(checked_head_dim(dim, num_heads)),
      mechanism_(mechanism),
      qkvo_(o.gate ? child<SplitPointwise>("qkvo", build, dim,
                                           std::vector<std::int64_t>{2 * dim, dim, dim})
                   : child<SplitPointwise>("qkv", build, dim,
                                           std::vector<std::int64_t>{2 * dim, dim})),
      proj_(child<nn::TokenPointwise>("proj", build, dim, dim)) {
  FOVEA_CHECK(o.lepe == 0 || o.lepe % 2 == 1, ConfigError,
              fmt::format("mavit: attention.lepe is {}; expected 0 or an odd number", o.lepe));
  if (mechanism == MavitMechanism::kMala)
    mala_ = &child<attention::Mala>("", build, o, num_heads, head_dim_);
  if (o.lepe > 0) lepe_ = &child<nn::TokenConv2d>("lepe", build, dim, o.lepe);
}

ops::HeadView MavitAttention::heads_of(const Tensor& x, std::int64_t first) const {
  return ops::heads(x, num_heads_, head_dim_, first, head_dim_);
}

Tensor MavitAttention::operator()(const Tensor& x, const attention::Context& context) {
  const auto scope = enter();
  const std::vector<Tensor> parts = qkvo_(x);
  const Tensor& qk = parts[0];
  const Tensor& v = parts[1];
  const Tensor local = lepe_ != nullptr ? (*lepe_)(v, context.grid_h, context.grid_w) : Tensor();
  if (mechanism_ == MavitMechanism::kSoftmax) {
    Tensor y = softmax(qk, v, context);
    if (local.defined()) y = ops::add(y, local);
    return proj_(o_.gate ? ops::mul(y, parts[2]) : y);
  }
  ops::HeadFinish finish;
  if (local.defined()) finish.residual = heads_of(local, 0);
  if (o_.gate) finish.gate = heads_of(parts[2], 0);
  finish.gate_op = UnaryOp::kAffine;
  return proj_((*mala_)({heads_of(qk, 0), heads_of(qk, dim_), heads_of(v, 0)}, context,
                        {context.rope_cos, context.rope_sin}, finish));
}

Tensor MavitAttention::softmax(const Tensor& qk, const Tensor& v,
                               const attention::Context& context) const {
  const Tensor turned =
      context.rope_cos.defined() ? ops::rotate(qk, {context.rope_cos, context.rope_sin}) : qk;
  const ops::HeadView q = heads_of(turned, 0);
  const ops::HeadView k = heads_of(turned, dim_);
  const ops::AttentionOptions options{1 / std::sqrt(static_cast<double>(head_dim_)), false, {}};
  if (const auto [first, count] = context.wanted_rows(); count != 0) {
    const autograd::NoGrad no_grad;
    context.probe->record("attn", ops::attention_map(q, k, options, first, count));
  }
  return attention::attended(context, ops::attention(q, k, heads_of(v, 0), options), heads_of(v, 0),
                             {});
}

}  // namespace fovea::models
