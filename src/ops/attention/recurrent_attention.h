// Causal linear attention a few tokens at a time, with a state whose size does not grow: how
// decoders write. mala 3.4.
#pragma once

#include "ops/attention/magnitude_attention.h"

namespace fovea::ops {

/// What causal linear attention keeps of the tokens so far; the sums are undefined before the
/// first, those of the values by magnitude alone. In the compute type.
struct RecurrentState {
  LinearAttentionSums sums = {};  // as LinearAttentionSums says
  std::int64_t tokens = 0;
};

/// Results of the next n tokens, heads concatenated (b, n, heads * v.dim): what the causal
/// magnitude_attention() over all tokens so far has in its last n rows. Adds the tokens to the
/// state. options.rotary are the tables of these n tokens. Takes time and memory that depend on n
/// alone. No gradients. Throws ShapeError for a key mask and for given coefficients.
Tensor recurrent_magnitude_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                                     const MagnitudeOptions& options, RecurrentState& state);
/// The same of linear_attention().
Tensor recurrent_linear_attention(const HeadView& q, const HeadView& k, const HeadView& v,
                                  const LinearAttentionOptions& options, RecurrentState& state);

}  // namespace fovea::ops
