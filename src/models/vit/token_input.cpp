#include "models/vit/token_input.h"

#include "nn/embedding.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {

TokenInput::TokenInput(const nn::Build& build, const TokenOptions& o, const PrefixTokens& prefix,
                       std::int64_t rows)
    : prefix_has_positions_(prefix.have_positions) {
  const auto learned = [&](const char* name, std::int64_t count) {
    return parameter(name, nn::init_truncated_normal(build.at(name), {1, count, o.embed_dim}));
  };
  if (prefix.class_token) prefix_.push_back(learned("cls_token", 1));
  if (prefix.dist_token) prefix_.push_back(learned("dist_token", 1));
  if (prefix.reg_tokens > 0) prefix_.push_back(learned("reg_token", prefix.reg_tokens));
  if (o.pos_embed == Positions::kLearned) {
    pos_embed_ = learned("pos_embed", rows);
  } else if (o.pos_embed == Positions::kSinusoidal) {
    positions_ = nn::sinusoidal_positions(rows, o.embed_dim, build.dtype, Device(build.device));
  }
  if (o.drop_rate > 0) pos_drop_ = &child<nn::Dropout>("pos_drop", build, o.drop_rate);
}

Tensor TokenInput::with_positions(const Tensor& x) const {
  const std::int64_t n = x.size(1);
  if (pos_embed_.defined()) return ops::add(x, ops::slice(pos_embed_, 1, 0, n));
  if (!positions_.defined()) return x;
  return ops::add(x, positions_.size(1) == n ? positions_ : ops::slice(positions_, 1, 0, n));
}

Tensor TokenInput::operator()(const Tensor& tokens) {
  const auto scope = enter();
  Tensor x = prefix_has_positions_ ? tokens : with_positions(tokens);
  if (!prefix_.empty()) {
    std::vector<Tensor> parts;
    for (const Tensor& token : prefix_)
      parts.push_back(ops::expand(token, {x.size(0), token.size(1), x.size(2)}));
    parts.push_back(x);
    x = ops::concat(parts, 1);
  }
  if (prefix_has_positions_) x = with_positions(x);
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
