#include "models/vit/vit_head.h"

#include <cmath>

#include "nn/init.h"
#include "nn/linear.h"
#include "ops/attention/attention.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::models {

// A learned query attends to the tokens, behind which is an MLP: (b, n, dim) -> (b, dim). timm's
// AttentionPoolLatent; Zhai et al. 2022, Scaling Vision Transformers.
class ViTHead::AttentionPool final : public nn::Module {
 public:
  AttentionPool(const nn::Build& build, const ViTOptions& o, std::int64_t num_heads)
      : num_heads_(num_heads),
        head_dim_(o.embed_dim / num_heads),
        latent_(
            parameter("latent", nn::init_normal(build.at("latent"), {1, 1, o.embed_dim},
                                                1 / std::sqrt(static_cast<double>(o.embed_dim))))),
        q_(child<nn::Linear>("q", build, o.embed_dim, o.embed_dim)),
        kv_(child<nn::Linear>("kv", build, o.embed_dim, 2 * o.embed_dim)),
        proj_(child<nn::Linear>("proj", build, o.embed_dim, o.embed_dim)),
        norm_(child("norm", nn::make_norm(o.norm, build.at("norm"), o.embed_dim, o.norm_eps))),
        mlp_(child("mlp", nn::make_ffn(ffn_of(o), build.at("mlp"), o.embed_dim, 0))) {}
  std::string type() const override { return "AttentionPool"; }

  Tensor operator()(const Tensor& x) {
    const auto scope = enter();
    const std::int64_t b = x.size(0), dim = x.size(2);
    const Tensor q = q_(ops::cast(ops::expand(latent_, {b, 1, dim}), x.dtype()));
    const Tensor kv = kv_(x);  // (b, n, 2 dim), order k, v
    const auto heads = [&](const Tensor& t, std::int64_t first) {
      return ops::heads(t, num_heads_, head_dim_, first, head_dim_);
    };
    const Tensor read =
        proj_(ops::attention(heads(q, 0), heads(kv, 0), heads(kv, dim),
                             {.scale = 1 / std::sqrt(static_cast<double>(head_dim_))}));
    return ops::reshape(ops::add(read, mlp_(norm_(read))), {b, dim});
  }

 private:
  std::int64_t num_heads_;
  std::int64_t head_dim_;
  Tensor latent_;
  nn::Linear& q_;
  nn::Linear& kv_;
  nn::Linear& proj_;
  nn::UnaryModule& norm_;
  nn::FeedForward& mlp_;
};

ViTHead::ViTHead(const nn::Build& build, const ViTOptions& o, std::int64_t classes)
    : global_pool_(o.global_pool), prefix_(o.prefix().count()), distilled_(o.distilled) {
  if (global_pool_ == Pool::kMap) {
    attn_pool_ =
        &child<AttentionPool>("attn_pool", build, o, o.attention.options.at("num_heads").as_int());
  }
  if (o.fc_norm) {
    fc_norm_ =
        &child("fc_norm", nn::make_norm(o.norm, build.at("fc_norm"), o.embed_dim, o.norm_eps));
  }
  const auto head = [&](const char* name) {
    return &child(name, make_head(build.at(name), o.embed_dim, o.head_hidden, classes));
  };
  if (classes > 0) head_ = head("head");
  if (classes > 0 && distilled_) head_dist_ = head("head_dist");
}

Tensor ViTHead::pool(const Tensor& x) {
  if (global_pool_ == Pool::kToken) return class_token_of(x);
  const Tensor patches = ops::slice(x, 1, prefix_, x.size(1) - prefix_);
  return attn_pool_ != nullptr ? (*attn_pool_)(patches) : ops::mean(patches, {1});
}

Outputs ViTHead::operator()(const Tensor& tokens) {
  const auto scope = enter();
  Tensor pooled = pool(tokens);
  if (fc_norm_ != nullptr) pooled = (*fc_norm_)(pooled);
  const auto logits_of = [](nn::UnaryModule* head, const Tensor& x) {
    return head != nullptr ? (*head)(x) : x;
  };
  if (!distilled_) return {.logits = logits_of(head_, pooled), .embedding = pooled};
  const auto mean = [](const Tensor& a, const Tensor& b) { return ops::mul(ops::add(a, b), 0.5); };
  const Tensor dist = ops::reshape(ops::slice(tokens, 1, 1, 1), pooled.shape());
  return {.logits = mean(logits_of(head_, pooled), logits_of(head_dist_, dist)),
          .embedding = mean(pooled, dist)};
}

}  // namespace fovea::models
