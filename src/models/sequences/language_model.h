// Networks that say which token comes next: tokens to logits of the vocabulary, over whole
// sequences for training, and over the next tokens with a state for writing. mala 3.4, 4.6.
#pragma once

#include <vector>

#include "models/model.h"
#include "models/sequences/causal_attention.h"

namespace fovea::models {

/// What a decoder keeps of the tokens before: a struct of tensors, which may be copied to go on
/// from one place in several ways. Empty before the first token.
struct DecoderState {
  std::int64_t tokens = 0;
  std::vector<AttentionState> layers = {};

  /// Memory of the tensors.
  std::int64_t bytes() const;
};

/// Logits of a whole sequence are Outputs::logits (b, n, vocabulary): row i is of the token behind
/// the tokens up to i.
class LanguageModel : public ModelOf<Interface::kLanguageModel> {
 public:
  /// Logits (b, vocabulary), float32, of the token behind `tokens` (b, n) int64, which come behind
  /// those of the state and are added to it. The same as the last row of a pass over all of them.
  /// No gradients; the mode is the caller's. Throws ShapeError unless n is at least 1 and b that of
  /// the state.
  Tensor next(const Tensor& tokens, DecoderState& state);

 protected:
  virtual Tensor next_logits(const Tensor& tokens, DecoderState& state) = 0;
};

}  // namespace fovea::models
