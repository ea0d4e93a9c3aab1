// Diagnostics of a network's attention over samples: every value, by layer and head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/diagnostics/attention_metrics.h"
#include "explain/diagnostics/attention_pass.h"
#include "models/model.h"

namespace fovea::explain {

/// What one metric was on the samples that were looked at.
struct DiagnosedMetric {
  const AttentionMetric* metric = nullptr;
  std::vector<std::string>
      layers;  // modules: of attentions, or of the blocks whose tokens it is of
  /// [layer][head][sample]; of metrics of layers and tokens a single "head". Layers for which it is
  /// not defined have none. A sample without a value has NaN.
  std::vector<std::vector<std::vector<double>>> values = {};

  bool defined() const;  // for some layer
  /// Over the heads of a layer, of each sample.
  std::vector<double> of_layer(std::size_t layer) const;
  /// Over layers and their heads, of each sample.
  std::vector<double> over_all() const;
};

/// Collects samples of one network.
class AttentionDiagnosis {
 public:
  /// `names`: of attention_metrics(), each once.
  explicit AttentionDiagnosis(const std::vector<std::string>& names);

  /// Runs the network, which evaluates, on inputs (b, ...) of its interface; labels: (b) int64 of
  /// samples that have a class.
  void add(models::Model& model, const Tensor& inputs, const Tensor& labels = {});
  /// In the order of attention_metrics(). No layers before the first sample.
  const std::vector<DiagnosedMetric>& metrics() const { return metrics_; }

 private:
  bool asks_for(DiagnosticNeed need) const;
  bool asks_for_maps() const;
  void add_map(const LayerMap& map, std::size_t layer, const MapDiagnosticsOptions& options);
  void add_tokens(const SeenTokens& tokens, std::size_t block);
  void add_importance(models::Model& model, const Tensor& inputs, const Tensor& labels);

  std::vector<DiagnosedMetric> metrics_;
};

/// "sink_rate needs attention of all tokens to all tokens, and the network has none".
std::string why_undefined(const AttentionMetric& metric);

/// Samples of a part of the data that are looked at for metrics of an evaluation: one of 16, which
/// is meant to cost about 2 % of an epoch of training, but not fewer than 16 and not more
/// than 64.
class AttentionSample {
 public:
  static constexpr std::int64_t kOneOf = 16, kFewest = 16, kMost = 64;
  /// How many of `size` samples are.
  static std::int64_t count_of(std::int64_t size);

  /// `names`: of attention_metrics(). `size`: samples of the part.
  AttentionSample(const std::vector<std::string>& names, std::int64_t size);

  /// Whether sample i of the part is looked at: every k-th is.
  bool wants(std::int64_t i) const { return i % step_ == 0; }
  /// As AttentionDiagnosis. Throws ConfigError, naming the metric, for a network that one of them
  /// is not defined for.
  void add(models::Model& model, const Tensor& inputs, const Tensor& labels = {});
  /// Means over samples, layers and heads; NaN before the first sample.
  std::vector<metrics::Measurement> measure() const;

 private:
  AttentionDiagnosis diagnosis_;
  std::int64_t step_;
};

}  // namespace fovea::explain
