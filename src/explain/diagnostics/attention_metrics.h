// Diagnostics of attention maps as metrics of classifications, which experiments ask for by
// eval.metrics. explain C.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/diagnostics/map_diagnostics.h"
#include "metrics/metric_info.h"
#include "models/model.h"

namespace fovea::explain {

/// One of them: a mean over samples, layers and heads.
struct AttentionMetric {
  metrics::MetricInfo info;  // its direction is the one that is usually hoped for
  std::string help;
  double (*value)(const MapDiagnostics&) = nullptr;
  bool of_ranks = false;  // needs singular values
};
const std::vector<AttentionMetric>& attention_metrics();
/// Null for another name.
const AttentionMetric* find_attention_metric(const std::string& name);
/// "attention_entropy: ...; sink_rate: ...".
std::string attention_metrics_help();

/// Maps of some samples of a part of the data.
class AttentionSample {
 public:
  static constexpr std::int64_t kMost = 64;  // samples that are looked at
  /// How many of `size` samples are.
  static std::int64_t count_of(std::int64_t size);

  /// `names`: of attention_metrics(). `size`: samples of the part.
  AttentionSample(std::vector<std::string> names, std::int64_t size);

  /// Whether sample i of the part is looked at: every k-th is, so that they are kMost at most.
  bool wants(std::int64_t i) const { return i % step_ == 0; }
  /// Runs the network on one input of its interface, (1, ...), as it evaluates. Throws ConfigError
  /// for a network without maps over all of its tokens.
  void add(models::Model& model, const Tensor& input);
  std::vector<metrics::Measurement> measure() const;

 private:
  std::vector<std::string> names_;
  std::int64_t step_;
  std::vector<MapDiagnostics> collected_;  // none before the first sample
};

}  // namespace fovea::explain
