#include "explain/diagnostics/attention_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "explain/diagnostics/head_importance.h"
#include "explain/diagnostics/mean_of.h"
#include "explain/maps/tokens.h"
#include "ops/elementwise.h"

namespace fovea::explain {
namespace {

constexpr std::int64_t kPass = 16;  // samples whose maps are in memory at once

MeanOf mean_of(const std::vector<double>& values) {
  MeanOf mean;
  for (const double value : values) mean.add(value);
  return mean;
}

bool is_of_maps(const AttentionMetric& metric) {
  return metric.of_head != nullptr || metric.of_layer != nullptr;
}

bool classifies(const models::Model& model) {
  const models::Interface network = model.interface();
  return (network == models::Interface::kImageClassifier ||
          network == models::Interface::kTextClassifier) &&
         model.has_head();
}

std::int64_t step_of(std::int64_t size) {
  using Sample = AttentionSample;
  const std::int64_t wanted = std::clamp(size / Sample::kOneOf, Sample::kFewest, Sample::kMost);
  return std::max<std::int64_t>((size + wanted - 1) / wanted, 1);
}

// The values of a sample in one layer, by head; none where the metric is not defined.
std::vector<double> values_by_head(const AttentionMetric& metric, const LayerMap& map,
                                   const LayerDiagnostics& found) {
  std::vector<double> values;
  if (!fulfils(map, metric.need)) return values;
  const double factor = metric.info.unit == "%" ? 100 : 1;
  if (metric.of_layer != nullptr) return {factor * (found.*metric.of_layer).value()};
  for (const HeadDiagnostics& head : found.heads)
    values.push_back(factor * (head.*metric.of_head).value());
  return values;
}

void append_sample(const std::vector<double>& by_head, std::size_t layer, DiagnosedMetric& to) {
  std::vector<std::vector<double>>& heads = to.values[layer];
  if (heads.empty()) heads.resize(by_head.size());
  for (std::size_t h = 0; h < by_head.size(); ++h) heads[h].push_back(by_head[h]);
}

}  // namespace

bool DiagnosedMetric::defined() const {
  return std::ranges::any_of(values, [](const auto& heads) { return !heads.empty(); });
}

std::vector<double> DiagnosedMetric::of_layer(std::size_t layer) const {
  std::vector<double> means;
  const auto& heads = values[layer];
  for (std::size_t i = 0; !heads.empty() && i < heads.front().size(); ++i) {
    MeanOf mean;
    for (const std::vector<double>& head : heads) mean.add(head[i]);
    means.push_back(mean.value());
  }
  return means;
}

std::vector<double> DiagnosedMetric::over_all() const {
  std::vector<MeanOf> samples;
  for (const auto& heads : values) {
    for (const std::vector<double>& head : heads) {
      samples.resize(head.size());
      for (std::size_t i = 0; i < head.size(); ++i) samples[i].add(head[i]);
    }
  }
  std::vector<double> means;
  for (const MeanOf& sample : samples) means.push_back(sample.value());
  return means;
}

AttentionDiagnosis::AttentionDiagnosis(const std::vector<std::string>& names) {
  for (const AttentionMetric& metric : attention_metrics()) {
    if (std::ranges::count(names, metric.info.name) > 0) metrics_.push_back({&metric, {}, {}});
  }
}

bool AttentionDiagnosis::asks_for(DiagnosticNeed need) const {
  return std::ranges::any_of(metrics_,
                             [&](const DiagnosedMetric& one) { return one.metric->need == need; });
}

bool AttentionDiagnosis::asks_for_maps() const {
  return std::ranges::any_of(metrics_,
                             [](const DiagnosedMetric& one) { return is_of_maps(*one.metric); });
}

void AttentionDiagnosis::add_map(const LayerMap& map, std::size_t layer,
                                 const MapDiagnosticsOptions& options) {
  MapDiagnostics diagnostics(options);
  diagnostics.add(0, map);
  for (DiagnosedMetric& one : metrics_) {
    if (!is_of_maps(*one.metric)) continue;
    append_sample(values_by_head(*one.metric, map, diagnostics.layers().front()), layer, one);
  }
}

void AttentionDiagnosis::add_tokens(const SeenTokens& tokens, std::size_t block) {
  const TokenDiagnostics found = diagnose_tokens(tokens.values, tokens.n, {});
  for (DiagnosedMetric& one : metrics_) {
    if (one.metric->of_tokens != nullptr) append_sample({one.metric->of_tokens(found)}, block, one);
  }
}

void AttentionDiagnosis::add_importance(models::Model& model, const Tensor& inputs,
                                        const Tensor& labels) {
  const auto found = std::ranges::find_if(metrics_, [](const DiagnosedMetric& one) {
    return one.metric->need == DiagnosticNeed::kClass;
  });
  if (found == metrics_.end() || !labels.defined() || !classifies(model)) return;
  const Device device = model.parameters().front().tensor.device();
  const auto given = [&](const Tensor& some) {
    return models::only_input(model.interface(), ops::to(some, device));
  };
  std::vector<HeadSite> sites;
  try {
    sites = head_sites(model, given(inputs.rows(0, 1)));
  } catch (const ConfigError&) {
    return;  // heads that end in no projection, or no attention
  }
  const std::vector<HeadTable> importance =
      head_importances(model, sites, given(inputs), ops::to(labels, device));
  found->layers.clear();
  for (const HeadSite& site : sites) found->layers.push_back(site.module);
  found->values.resize(sites.size());
  for (std::size_t layer = 0; layer < sites.size(); ++layer) {
    const HeadTable& heads = importance[layer];
    for (std::size_t sample = 0; sample < heads.front().size(); ++sample) {
      std::vector<double> by_head;
      for (const std::vector<double>& head : heads) by_head.push_back(head[sample]);
      append_sample(by_head, layer, *found);
    }
  }
}

void AttentionDiagnosis::add(models::Model& model, const Tensor& inputs, const Tensor& labels) {
  MapDiagnosticsOptions options;
  options.causal = model.interface() == models::Interface::kLanguageModel;
  options.ranks = asks_for(DiagnosticNeed::kRanks);
  options.pairs = asks_for(DiagnosticNeed::kSeveralHeads);
  const AttentionPass::Wanted wanted{.maps = asks_for_maps(),
                                     .distances = asks_for(DiagnosticNeed::kPatches),
                                     .tokens = asks_for(DiagnosticNeed::kTokens)};
  for (std::int64_t first = 0; first < inputs.size(0); first += kPass) {
    const std::int64_t end = std::min(first + kPass, inputs.size(0));
    add_importance(model, inputs.rows(first, end),
                   labels.defined() ? labels.rows(first, end) : labels);
    const AttentionPass pass(model, inputs.rows(first, end), wanted);
    const std::vector<std::string> attentions = pass.attentions(), blocks = pass.blocks();
    for (DiagnosedMetric& one : metrics_) {
      if (one.metric->need == DiagnosticNeed::kClass) continue;
      one.layers = one.metric->of_tokens != nullptr ? blocks : attentions;
      one.values.resize(one.layers.size());
    }
    for (std::int64_t item = 0; item < pass.batch(); ++item) {
      for (std::size_t layer = 0; layer < attentions.size(); ++layer)
        add_map(pass.map(layer, item), layer, options);
      for (std::size_t block = 0; block < blocks.size(); ++block)
        add_tokens(pass.tokens(block, item), block);
    }
  }
}

std::string why_undefined(const AttentionMetric& metric) {
  return fmt::format("{} needs {}, and the network has none", metric.info.name,
                     text_of(metric.need));
}

std::int64_t AttentionSample::count_of(std::int64_t size) {
  return (size + step_of(size) - 1) / step_of(size);
}

AttentionSample::AttentionSample(const std::vector<std::string>& names, std::int64_t size)
    : diagnosis_(names), step_(step_of(size)) {}

void AttentionSample::add(models::Model& model, const Tensor& inputs, const Tensor& labels) {
  diagnosis_.add(model, inputs, labels);
  for (const DiagnosedMetric& one : diagnosis_.metrics()) {
    FOVEA_CHECK(one.defined(), ConfigError,
                fmt::format("eval.metrics: {}; choose other metrics", why_undefined(*one.metric)));
  }
}

std::vector<metrics::Measurement> AttentionSample::measure() const {
  std::vector<metrics::Measurement> measured;
  for (const DiagnosedMetric& one : diagnosis_.metrics())
    measured.push_back({.info = one.metric->info, .value = mean_of(one.over_all()).value()});
  return measured;
}

}  // namespace fovea::explain
