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

/// The learned tokens before those of the input, in this order.
struct PrefixTokens {
  bool class_token = false;
  bool dist_token = false;
  std::int64_t reg_tokens = 0;
  bool have_positions = true;

  std::int64_t count() const { return (class_token ? 1 : 0) + (dist_token ? 1 : 0) + reg_tokens; }
};

/// Puts prefix tokens before the tokens, adds positions, and drops out: (b, n, dim) -> (b, prefix +
/// n, dim). Names: cls_token, dist_token, reg_token, pos_embed, which precede those of the
/// embedding in files: it is registered first, under the empty name.
class TokenInput final : public nn::Module {
 public:
  /// `rows`: of the positions.
  TokenInput(const nn::Build& build, const TokenOptions& options, const PrefixTokens& prefix,
             std::int64_t rows);
  std::string type() const override { return "TokenInput"; }
  Tensor operator()(const Tensor& x);

 private:
  Tensor with_positions(const Tensor& x) const;

  bool prefix_has_positions_;
  std::vector<Tensor> prefix_;  // (1, count, dim) each
  Tensor pos_embed_;            // learned, or undefined
  Tensor positions_;            // fixed, or undefined
  nn::Dropout* pos_drop_ = nullptr;
};

/// The class token of (b, n, dim): (b, dim).
Tensor class_token_of(const Tensor& x);

/// The same with another way to begin.
nn::Build with_init(nn::Build build, nn::Init init);

}  // namespace fovea::models
