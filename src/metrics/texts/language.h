// Metrics of language models: how well each token of a text is foreseen from those before it.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/metric_info.h"

namespace fovea::metrics {

/// exp of the mean loss of a token: of how many tokens, all equally likely, the model would have to
/// choose. Comparable only between models with the same tokens.
inline const MetricInfo kPerplexity{.name = "perplexity", .larger_is_better = false, .decimals = 2};
/// The same of a byte of the text, in bits: comparable whatever the tokens are.
inline const MetricInfo kBitsPerByte{
    .name = "bits_per_byte", .unit = "bits", .larger_is_better = false};

/// Sums over the tokens that were predicted, in float64.
class LanguageScore {
 public:
  /// `nats`: -ln of the probability of the true token, summed over `tokens` of them, which stand
  /// for `bytes`.
  void add(double nats, std::int64_t tokens, std::int64_t bytes);
  std::int64_t tokens() const { return tokens_; }
  std::int64_t bytes() const { return bytes_; }
  /// loss (nats of a token), perplexity, bits_per_byte; NaN before the first token.
  std::vector<Measurement> measure() const;

 private:
  double nats_ = 0;
  std::int64_t tokens_ = 0, bytes_ = 0;
};

/// The metrics without their values.
std::vector<MetricInfo> language_metrics();

}  // namespace fovea::metrics
