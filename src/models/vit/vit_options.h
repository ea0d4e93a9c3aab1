// Options of the ViT family.
#pragma once

#include <array>

#include "models/model.h"
#include "models/vit/token_input.h"

namespace fovea::models {

/// Keys are timm's VisionTransformer's where it has them.
struct ViTOptions : TokenOptions {
  std::optional<std::array<std::int64_t, 2>> img_size;
  std::int64_t patch_size = 4;
  std::optional<std::int64_t> in_chans;
  bool class_token = true;
  bool distilled = false;
  std::int64_t reg_tokens = 0;
  bool no_embed_class = false;
  std::optional<std::int64_t> pos_rows;
  bool embed_norm = false;
  bool pre_norm = false;
  bool fc_norm = false;
  bool paper_counts_modules = false;  // of presets: the paper leaves out the products of attention

  PrefixTokens prefix() const { return {class_token, distilled, reg_tokens, !no_embed_class}; }
  /// The norm behind the last block is there, and not behind the pooling.
  bool norm_before_pool() const { return final_norm && !fc_norm; }
};

schema::Fields<ViTOptions> vit_fields(const ViTOptions& defaults);

/// Throws ConfigError for options that contradict each other.
void check_options(const ViTOptions& options);

}  // namespace fovea::models
