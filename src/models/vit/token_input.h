// What the classifiers of images and of texts share before their encoder: a class token, positions
// and dropout. dgsa 3.2, 3.3.
#pragma once

#include "models/encoder.h"
#include "nn/dropout.h"

namespace fovea::models {

/// Options of a classifier of tokens.
struct TokenOptions : EncoderOptions {
  std::optional<std::int64_t> num_classes;
  Pool global_pool = Pool::kToken;
  Positions pos_embed = Positions::kLearned;
  std::optional<std::int64_t> head_hidden;
};

/// Puts a class token before the tokens, if there is one, adds positions, and drops out: (b, n,
/// dim) -> (b, n or n + 1, dim). Names: cls_token, pos_embed, which precede those of the embedding
/// in files: it is registered first, under the empty name.
class TokenInput final : public nn::Module {
 public:
  /// `rows`: of the positions.
  TokenInput(const nn::Build& build, const TokenOptions& options, bool class_token,
             std::int64_t rows);
  std::string type() const override { return "TokenInput"; }
  Tensor operator()(const Tensor& x);

 private:
  Tensor cls_token_;  // undefined: none
  Tensor pos_embed_;  // learned, or undefined
  Tensor positions_;  // fixed, or undefined
  nn::Dropout* pos_drop_ = nullptr;
};

/// The class token of (b, n, dim): (b, dim).
Tensor class_token_of(const Tensor& x);

/// The same with another way to begin.
nn::Build with_init(nn::Build build, nn::Init init);

}  // namespace fovea::models
