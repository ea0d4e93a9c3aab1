// How the next token is drawn from what a language model says of it.
#pragma once

#include <cstdint>
#include <span>

namespace fovea::models {

struct SamplingOptions {
  double temperature = 1;  // logits are divided by it; 0: always the most probable token
  std::int64_t top_k = 0;  // only so many of the most probable tokens; 0: all
  double top_p = 1;        // of those, as few as have this share of their probability together
};

/// The token whose share of [0, 1) holds `u`, the shares being the probabilities that are left, the
/// largest first. Equal logits are ordered by their ids; NaN counts as no probability. Throws
/// ConfigError for options outside their ranges and where no logit is a number.
std::int64_t sample_token(std::span<const float> logits, const SamplingOptions& options, double u);

}  // namespace fovea::models
