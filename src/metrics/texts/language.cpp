#include "metrics/texts/language.h"

#include <cmath>
#include <numbers>

namespace fovea::metrics {

void LanguageScore::add(double nats, std::int64_t tokens, std::int64_t bytes) {
  nats_ += nats;
  tokens_ += tokens;
  bytes_ += bytes;
}

std::vector<Measurement> LanguageScore::measure() const {
  const double loss = nats_ / static_cast<double>(tokens_);
  return {{.info = kLoss, .value = loss},
          {.info = kPerplexity, .value = std::exp(loss)},
          {.info = kBitsPerByte, .value = nats_ / std::numbers::ln2 / static_cast<double>(bytes_)}};
}

std::vector<MetricInfo> language_metrics() { return {kLoss, kPerplexity, kBitsPerByte}; }

}  // namespace fovea::metrics
