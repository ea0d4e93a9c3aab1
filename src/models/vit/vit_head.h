// From the tokens of a ViT to logits.
#pragma once

#include "models/network.h"
#include "models/vit/vit_options.h"

namespace fovea::models {

/// Pools tokens (b, n, dim) to (b, dim), norms the result with fc_norm, and makes logits of it, (b,
/// classes); 0 classes: there is no head, and the logits are what it would see. The logits of a
/// distilled network are the mean of those of both heads, as in timm's inference. Names: fc_norm,
/// attn_pool.{latent, q, kv, proj, norm, mlp}, head, head_dist. Registered under the empty name.
class ViTHead final : public nn::Module {
 public:
  ViTHead(const nn::Build& build, const ViTOptions& options, std::int64_t classes);
  std::string type() const override { return "ViTHead"; }
  Outputs operator()(const Tensor& tokens);

 private:
  class AttentionPool;
  Tensor pool(const Tensor& tokens);

  Pool global_pool_;
  std::int64_t prefix_;
  AttentionPool* attn_pool_ = nullptr;
  nn::UnaryModule* fc_norm_ = nullptr;
  nn::UnaryModule* head_ = nullptr;       // none: no classes
  nn::UnaryModule* head_dist_ = nullptr;  // none: not distilled, or no classes
  bool distilled_;
};

}  // namespace fovea::models
