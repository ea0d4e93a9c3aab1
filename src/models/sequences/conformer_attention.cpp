#include "models/sequences/conformer_attention.h"

#include <cmath>

#include "attention/rotary.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "nn/embedding.h"
#include "ops/attention/attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::models {
namespace {

// Uniform in +-sqrt(6 / (rows + columns)): Xavier's, as ESPnet starts the biases of positions.
Tensor xavier(const nn::Build& build, const Shape& shape) {
  const double bound = std::sqrt(6.0 / static_cast<double>(shape[0] + shape[1]));
  return ops::random_uniform(shape, -bound, bound, build.random, build.dtype, build.device);
}

// (-sin, cos) of the angles of every token, the channels of a pair beside each other: (1, n, 1,
// dim).
Tensor turned_back(std::int64_t n, std::int64_t dim, DType dtype, const Device& device) {
  const Tensor signs = from_doubles({-1, 1}, {2}, dtype, device);
  const Tensor pairs =
      ops::reshape(nn::sinusoidal_positions(n, dim, dtype, device), {1, n, dim / 2, 2});
  return ops::reshape(ops::mul(pairs, signs), {1, n, 1, dim});
}

// Heads of a (b, n, heads, width a) and b (b, n, heads, width b) beside each other.
ops::HeadView joined_heads(const Tensor& a, const Tensor& b) {
  const Tensor both = ops::concat({a, b}, 3);
  const std::int64_t count = both.size(2), width = both.size(3);
  return ops::heads(ops::reshape(both, {both.size(0), both.size(1), count * width}), count, width,
                    0, width);
}

}  // namespace

schema::Fields<ConformerAttentionOptions> conformer_attention_fields() {
  using O = ConformerAttentionOptions;
  return schema::Fields<O>{}
      .add_enum(
          "type", &O::type,
          {{"softmax", ConformerMechanism::kSoftmax},
           {"linear", ConformerMechanism::kLinear},
           {"mala", ConformerMechanism::kMala}},
          "softmax with relative positions; linear or mala with sinusoids added to the tokens")
      .add("num_heads", &O::num_heads, schema::at_least(1),
           "number of heads; must divide embed_dim")
      .include(attention::mala_fields());
}

ConformerAttention::ConformerAttention(const nn::Build& build, std::int64_t dim,
                                       const ConformerAttentionOptions& o)
    : o_(o),
      dim_(dim),
      head_dim_((attention::check_heads("conformer", dim, o.num_heads, 1), dim / o.num_heads)),
      q_(child<nn::Linear>("linear_q", build, dim, dim)),
      k_(child<nn::Linear>("linear_k", build, dim, dim)),
      v_(child<nn::Linear>("linear_v", build, dim, dim)),
      out_(child<nn::Linear>("linear_out", build, dim, dim)) {
  FOVEA_CHECK(dim % 2 == 0, ConfigError,
              fmt::format("conformer: embed_dim is {}; expected an even number, for positions of "
                          "pairs of channels",
                          dim));
  if (o.type == ConformerMechanism::kMala)
    mala_ = &child<attention::Mala>("", build, o, o.num_heads, head_dim_);
  if (o.type != ConformerMechanism::kSoftmax) return;
  pos_ = &child<nn::Linear>("linear_pos", build, dim, dim, false);
  const Shape shape{o.num_heads, head_dim_};
  bias_u_ = parameter("pos_bias_u", xavier(build.at("pos_bias_u"), shape));
  bias_v_ = parameter("pos_bias_v", xavier(build.at("pos_bias_v"), shape));
}

ops::HeadView ConformerAttention::heads(const Tensor& x) const {
  return ops::heads(x, o_.num_heads, head_dim_, 0, head_dim_);
}

Tensor ConformerAttention::operator()(const Tensor& x, const attention::Context& context) {
  const auto scope = enter();
  return out_(attend(q_(x), k_(x), v_(x), context));
}

Tensor ConformerAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const attention::Context& context) {
  switch (o_.type) {
    case ConformerMechanism::kSoftmax:
      return relative_attention(q, k, v, context);
    case ConformerMechanism::kLinear:
      return linear_attention(q, k, v, context);
    default:
      return (*mala_)({heads(q), heads(k), heads(v)}, context);
  }
}

Tensor ConformerAttention::relative_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                              const attention::Context& context) {
  const std::int64_t b = q.size(0), n = q.size(1), h = o_.num_heads;
  const auto by_head = [&](const Tensor& x) { return ops::reshape(x, {b, n, h, -1}); };
  const Tensor content = ops::add(by_head(q), bias_u_);
  const Tensor placed = ops::reshape(ops::add(by_head(q), bias_v_), {b, n, dim_});
  const Tensor weight = ops::as_activation(pos_->weight(), q);
  std::vector<Tensor> turned;  // of each head W^T (q + v)
  for (std::int64_t head = 0; head < h; ++head)
    turned.push_back(ops::matmul(ops::slice(placed, 2, head * head_dim_, head_dim_),
                                 ops::slice(weight, 0, head * head_dim_, head_dim_)));
  const DType compute = compute_dtype(q.dtype());
  const Tensor positions = ops::rotate(
      ops::concat(turned, 2),
      attention::sequence_rotary(n, dim_, attention::Rotary::kBase, compute, q.device()));
  const Tensor sinusoids =
      ops::expand(ops::cast(turned_back(n, dim_, compute, q.device()), q.dtype()), {b, n, h, dim_});
  const ops::HeadView queries = joined_heads(content, by_head(positions));
  const ops::HeadView keys = joined_heads(by_head(k), sinusoids);
  const ops::AttentionOptions options{.scale = 1 / std::sqrt(static_cast<double>(head_dim_)),
                                      .key_mask = context.key_mask};
  if (const auto [first, count] = context.wanted_rows(); count != 0) {
    const autograd::NoGrad no_grad;
    context.probe->record("attn", ops::attention_map(queries, keys, options, first, count));
  }
  return ops::attention(queries, keys, heads(v), options);
}

Tensor ConformerAttention::linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const attention::Context& context) {
  attention::record_queries_and_keys(context, heads(q), heads(k));
  const ops::LinearAttentionOptions options{
      .feature_map = o_.kernel, .eps = o_.eps, .key_mask = context.key_mask};
  if (const auto [first, count] = context.wanted_rows(); count != 0) {
    const autograd::NoGrad no_grad;
    context.probe->record("attn",
                          ops::linear_attention_map(heads(q), heads(k), options, first, count));
  }
  return ops::linear_attention(heads(q), heads(k), heads(v), options);
}

}  // namespace fovea::models
