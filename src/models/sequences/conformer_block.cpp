#include "models/sequences/conformer_block.h"

#include <fmt/format.h>

#include "attention/linear_forms.h"
#include "base/error.h"
#include "nn/init.h"
#include "ops/activation.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

// Rows of a mask (b, n) that are valid, and for every row of (b n) its place among them; the others
// read the first.
struct ValidRows {
  Tensor valid, places;
};
ValidRows valid_rows(const Tensor& key_mask) {
  std::vector<std::int64_t> valid, places;
  const auto mask = key_mask.host_values<std::uint8_t>();
  for (std::size_t i = 0; i < mask.size(); ++i) {
    places.push_back(mask[i] != 0 ? std::ssize(valid) : 0);
    if (mask[i] != 0) valid.push_back(static_cast<std::int64_t>(i));
  }
  const Device& device = key_mask.device();
  return {Tensor::from(valid, {std::ssize(valid)}, device),
          Tensor::from(places, {std::ssize(places)}, device)};
}

}  // namespace

ConformerFfn::ConformerFfn(const nn::Build& build, std::int64_t dim, std::int64_t hidden,
                           double drop_rate)
    : w_1_(child<nn::Linear>("w_1", build, dim, hidden)),
      w_2_(child<nn::Linear>("w_2", build, hidden, dim)),
      dropout_(child<nn::Dropout>("dropout", build, drop_rate)) {}

Tensor ConformerFfn::forward(const Tensor& x) {
  return w_2_(dropout_(ops::activate({.kind = UnaryOp::kSilu}, w_1_(x))));
}

PointwiseConv1d::PointwiseConv1d(const nn::Build& build, std::int64_t in, std::int64_t out)
    : weight_(parameter("weight", nn::init_conv_weight(build.at("weight"), {out, in, 1}))),
      bias_(parameter("bias", nn::init_bias(build.at("bias"), out, in))) {}

Tensor PointwiseConv1d::forward(const Tensor& x) {
  return ops::linear(x, ops::reshape(weight_, {weight_.size(0), weight_.size(1)}), bias_);
}

DepthwiseConv1d::DepthwiseConv1d(const nn::Build& build, std::int64_t channels,
                                 std::int64_t kernel) {
  FOVEA_CHECK(kernel % 2 == 1, ConfigError,
              fmt::format("conformer: kernel_size is {}; expected an odd number, which keeps the "
                          "length",
                          kernel));
  weight_ = parameter("weight",
                      nn::init_conv_weight(build.at("weight"), {channels, 1, kernel}, channels));
  bias_ = parameter("bias", nn::init_bias(build.at("bias"), channels, kernel));
}

Tensor DepthwiseConv1d::forward(const Tensor& x) {
  const Tensor weight = ops::reshape(weight_, {weight_.size(0), 1, 1, weight_.size(2)});
  return ops::token_conv(x, weight, bias_, 1, x.size(1));
}

ConformerConv::ConformerConv(const nn::Build& build, std::int64_t dim, std::int64_t kernel)
    : pointwise_1_(child<PointwiseConv1d>("pointwise_conv1", build, dim, 2 * dim)),
      depthwise_(child<DepthwiseConv1d>("depthwise_conv", build, dim, kernel)),
      norm_(child<nn::BatchNorm2d>("norm", build, dim)),
      pointwise_2_(child<PointwiseConv1d>("pointwise_conv2", build, dim, dim)) {}

Tensor ConformerConv::operator()(const Tensor& x, const Tensor& key_mask) {
  const auto scope = enter();
  const Tensor gated =
      ops::activate({.kind = UnaryOp::kSigmoid, .gated = true, .gate_last = true}, pointwise_1_(x));
  const Tensor y = normalised(depthwise_(attention::masked_tokens(gated, key_mask)), key_mask);
  return pointwise_2_(ops::activate({.kind = UnaryOp::kSilu}, y));
}

Tensor ConformerConv::normalised(const Tensor& x, const Tensor& key_mask) {
  // Tokens (items, n, dim) as maps (items, dim, 1, n).
  const auto norm_tokens = [&](const Tensor& tokens, std::int64_t items) {
    const std::int64_t dim = tokens.size(-1);
    const Tensor map = ops::transpose(ops::reshape(tokens, {items, -1, dim}), 1, 2);
    const Tensor y = norm_(ops::reshape(map, {items, dim, 1, -1}));
    return ops::transpose(ops::reshape(y, {items, dim, -1}), 1, 2);
  };
  if (!training() || !key_mask.defined()) return norm_tokens(x, x.size(0));
  const std::int64_t dim = x.size(2);
  const ValidRows rows = valid_rows(key_mask);
  const Tensor valid = ops::embedding(ops::reshape(x, {-1, dim}), rows.valid);
  const Tensor y = ops::reshape(norm_tokens(valid, 1), {-1, dim});
  return ops::reshape(ops::embedding(y, rows.places), x.shape());
}

ConformerBlock::ConformerBlock(const nn::Build& build, const ConformerBlockOptions& o)
    : norm_ff_macaron_(child<nn::LayerNorm>("norm_ff_macaron", build, o.dim, kNormEps)),
      ff_macaron_(child<ConformerFfn>("feed_forward_macaron", build, o.dim, o.hidden, o.drop_rate)),
      norm_mha_(child<nn::LayerNorm>("norm_mha", build, o.dim, kNormEps)),
      attn_(child<ConformerAttention>("self_attn", build, o.dim, o.attention)),
      norm_conv_(child<nn::LayerNorm>("norm_conv", build, o.dim, kNormEps)),
      conv_(child<ConformerConv>("conv_module", build, o.dim, o.kernel_size)),
      norm_ff_(child<nn::LayerNorm>("norm_ff", build, o.dim, kNormEps)),
      ff_(child<ConformerFfn>("feed_forward", build, o.dim, o.hidden, o.drop_rate)),
      norm_final_(child<nn::LayerNorm>("norm_final", build, o.dim, kNormEps)),
      dropout_(child<nn::Dropout>("dropout", build, o.drop_rate)) {}

Tensor ConformerBlock::operator()(const Tensor& in, const attention::Context& context) {
  const auto scope = enter();
  const auto half = [&](const Tensor& branch) { return ops::mul(dropout_(branch), 0.5); };
  Tensor x = ops::add(in, half(ff_macaron_(norm_ff_macaron_(in))));
  x = ops::add(x, dropout_(attn_(norm_mha_(x), context)));
  x = ops::add(x, dropout_(conv_(norm_conv_(x), context.key_mask)));
  x = ops::add(x, half(ff_(norm_ff_(x))));
  const Tensor y = norm_final_(x);
  if (context.probe != nullptr) context.probe->record("features", y);
  return y;
}

}  // namespace fovea::models
