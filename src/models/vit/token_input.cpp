#include "models/vit/token_input.h"

#include "nn/embedding.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {

TokenInput::TokenInput(const nn::Build& build, const TokenOptions& o, bool class_token,
                       std::int64_t rows) {
  if (class_token) {
    cls_token_ = parameter("cls_token",
                           nn::init_truncated_normal(build.at("cls_token"), {1, 1, o.embed_dim}));
  }
  if (o.pos_embed == Positions::kLearned) {
    pos_embed_ = parameter(
        "pos_embed", nn::init_truncated_normal(build.at("pos_embed"), {1, rows, o.embed_dim}));
  } else if (o.pos_embed == Positions::kSinusoidal) {
    positions_ = nn::sinusoidal_positions(rows, o.embed_dim, build.dtype, Device(build.device));
  }
  if (o.drop_rate > 0) pos_drop_ = &child<nn::Dropout>("pos_drop", build, o.drop_rate);
}

Tensor TokenInput::operator()(const Tensor& tokens) {
  const auto scope = enter();
  Tensor x = tokens;
  if (cls_token_.defined())
    x = ops::concat({ops::expand(cls_token_, {x.size(0), 1, x.size(2)}), x}, 1);
  const std::int64_t n = x.size(1);
  if (pos_embed_.defined()) x = ops::add(x, ops::slice(pos_embed_, 1, 0, n));
  if (positions_.defined())
    x = ops::add(x, positions_.size(1) == n ? positions_ : ops::slice(positions_, 1, 0, n));
  return pos_drop_ != nullptr ? (*pos_drop_)(x) : x;
}

Tensor class_token_of(const Tensor& x) {
  return ops::reshape(ops::slice(x, 1, 0, 1), {x.size(0), x.size(2)});
}

nn::Build with_init(nn::Build build, nn::Init init) {
  build.init = init;
  return build;
}

}  // namespace fovea::models
