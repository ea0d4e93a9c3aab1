#include "explain/diagnostics/attention_metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/probe.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

// The mean over layers and heads of a member.
template <MeanOf HeadDiagnostics::*member>
double over_heads(const MapDiagnostics& diagnostics) {
  MeanOf mean;
  for (const LayerDiagnostics& layer : diagnostics.layers()) {
    for (const HeadDiagnostics& head : layer.heads) mean.add((head.*member).value());
  }
  return mean.value();
}

template <MeanOf LayerDiagnostics::*member>
double over_layers(const MapDiagnostics& diagnostics) {
  MeanOf mean;
  for (const LayerDiagnostics& layer : diagnostics.layers()) mean.add((layer.*member).value());
  return mean.value();
}

metrics::MetricInfo info_of(const char* name, const char* unit, bool larger_is_better) {
  return {.name = name,
          .unit = unit,
          .larger_is_better = larger_is_better,
          .decimals = std::string(unit) == "%" ? 2 : 4};
}

// Tokens of the one text that are no padding, behind the prefix; empty for images.
std::vector<std::uint8_t> valid_tokens(const models::Model& model, const Tensor& input) {
  if (model.interface() != models::Interface::kTextClassifier) return {};
  std::vector<std::uint8_t> valid(static_cast<std::size_t>(model.geometry().prefix_tokens), 1);
  for (const double id : host_doubles(input)) valid.push_back(id != 0 ? 1 : 0);
  return valid;
}

}  // namespace

const std::vector<AttentionMetric>& attention_metrics() {
  using Head = HeadDiagnostics;
  using Layer = LayerDiagnostics;
  static const std::vector<AttentionMetric> all = {
      {info_of("attention_entropy", "nats", true), "entropy of the rows of attention maps",
       over_heads<&Head::entropy>},
      {info_of("attention_relative_entropy", "", true),
       "the same over the logarithm of the number of keys, 0 to 1",
       over_heads<&Head::relative_entropy>},
      {info_of("sink_rate", "%", false),
       "how often the first token gets more than 0.3 of the attention of all rows",
       [](const MapDiagnostics& d) { return 100 * d.sink_rate(); }},
      {info_of("sink_any", "%", false), "the same of whichever token gets most",
       [](const MapDiagnostics& d) { return 100 * d.sink_any(); }},
      {info_of("first_token_share", "%", false), "share of attention that the first token gets",
       [](const MapDiagnostics& d) { return 100 * d.first_token_share(); }},
      {info_of("attention_effective_rank", "", true),
       "exp of the entropy of the maps' singular values", over_heads<&Head::effective_rank>, true},
      {info_of("attention_stable_rank", "", true),
       "squared singular values over the largest of them", over_heads<&Head::stable_rank>, true},
      {info_of("attention_row_residual", "", true),
       "how far rows of maps are from their mean, 0 to 1", over_heads<&Head::row_residual>},
      {info_of("attention_distance", "px", true),
       "distance between patches, weighted with attention (images in a grid)",
       over_heads<&Head::mean_distance>},
      {info_of("head_similarity", "", false), "cosine of the maps of two heads of a layer",
       over_layers<&Layer::head_similarity>},
      {info_of("head_divergence", "nats", true),
       "Jensen-Shannon divergence of the rows of two heads of a layer",
       over_layers<&Layer::head_js>}};
  return all;
}

const AttentionMetric* find_attention_metric(const std::string& name) {
  const auto found = std::ranges::find_if(
      attention_metrics(), [&](const AttentionMetric& m) { return m.info.name == name; });
  return found == attention_metrics().end() ? nullptr : &*found;
}

std::string attention_metrics_help() {
  std::vector<std::string> lines;
  for (const AttentionMetric& metric : attention_metrics())
    lines.push_back(metric.info.name + ": " + metric.help);
  return fmt::format("{}", fmt::join(lines, "; "));
}

namespace {

std::int64_t step_of(std::int64_t size) {
  constexpr std::int64_t kMost = AttentionSample::kMost;
  return std::max<std::int64_t>((size + kMost - 1) / kMost, 1);
}

}  // namespace

std::int64_t AttentionSample::count_of(std::int64_t size) {
  return (size + step_of(size) - 1) / step_of(size);
}

AttentionSample::AttentionSample(std::vector<std::string> names, std::int64_t size)
    : names_(std::move(names)), step_(step_of(size)) {}

void AttentionSample::add(models::Model& model, const Tensor& input) {
  const autograd::NoGrad no_grad;
  const Tensor there = ops::to(input, model.parameters().front().tensor.device());
  attention::Probe probe;
  model(models::only_input(model.interface(), there), &probe);
  const std::vector<Tensor> maps = probe.all("attn");
  const bool square = std::ranges::all_of(maps, [&](const Tensor& map) {
    return map.rank() == 4 && map.size(2) == map.size(3) && map.size(3) == maps.front().size(3);
  });
  FOVEA_CHECK(!maps.empty() && square, ConfigError,
              fmt::format("eval.metrics: {} needs maps of attention over all tokens, and the "
                          "network has none; choose other metrics",
                          names_.front()));
  if (collected_.empty()) {
    const attention::Context layout = model.geometry();
    MapDiagnosticsOptions options;
    options.prefix_tokens = layout.prefix_tokens;
    if (layout.grid_h > 0) {
      options.grid = {layout.grid_h, layout.grid_w};
      options.patch = static_cast<double>(input.size(-1)) / static_cast<double>(layout.grid_w);
    }
    options.ranks = std::ranges::any_of(
        names_, [](const std::string& name) { return find_attention_metric(name)->of_ranks; });
    collected_.emplace_back(options);
  }
  const std::vector<std::uint8_t> valid = valid_tokens(model, input);
  for (std::size_t layer = 0; layer < maps.size(); ++layer) {
    visualise::AttentionMap map{maps[layer].size(1), maps[layer].size(2),
                                host_doubles(maps[layer])};
    collected_.front().add(layer, valid.empty() ? map : visualise::crop(map, valid));
  }
}

std::vector<metrics::Measurement> AttentionSample::measure() const {
  std::vector<metrics::Measurement> measured;
  for (const AttentionMetric& metric : attention_metrics()) {
    if (std::ranges::count(names_, metric.info.name) == 0) continue;
    const double value = collected_.empty() ? std::numeric_limits<double>::quiet_NaN()
                                            : metric.value(collected_.front());
    measured.push_back({.info = metric.info, .value = value});
  }
  return measured;
}

}  // namespace fovea::explain
