#include "explain/diagnostics/attention_metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fovea::explain {
namespace {

using Head = HeadDiagnostics;
using Layer = LayerDiagnostics;
using Need = DiagnosticNeed;

metrics::MetricInfo info_of(const char* name, const char* unit, bool larger_is_better) {
  return {.name = name,
          .unit = unit,
          .larger_is_better = larger_is_better,
          .decimals = std::string(unit) == "%" ? 2 : 4};
}

AttentionMetric of_head(const metrics::MetricInfo& info, const char* help, Need need,
                        MeanOf Head::*member) {
  return {.info = info, .help = help, .need = need, .of_head = member};
}

AttentionMetric of_layer(const metrics::MetricInfo& info, const char* help, MeanOf Layer::*member) {
  return {.info = info, .help = help, .need = Need::kSeveralHeads, .of_layer = member};
}

AttentionMetric of_tokens(const metrics::MetricInfo& info, const char* help,
                          double (*value)(const TokenDiagnostics&)) {
  return {.info = info, .help = help, .need = Need::kTokens, .of_tokens = value};
}

std::vector<AttentionMetric> made_metrics() {
  return {
      of_head(info_of("attention_entropy", "nats", true), "entropy of the rows of attention maps",
              Need::kMap, &Head::entropy),
      of_head(info_of("attention_relative_entropy", "", true),
              "the same over the logarithm of the number of keys, 0 to 1", Need::kMap,
              &Head::relative_entropy),
      of_head(info_of("sink_rate", "%", false),
              "how often the first token gets more than 0.3 of the attention of all rows",
              Need::kAllTokens, &Head::sink_rate),
      of_head(info_of("sink_any", "%", false), "the same of whichever key gets most", Need::kMap,
              &Head::sink_any),
      of_head(info_of("first_token_share", "%", false),
              "share of attention that the first token gets", Need::kAllTokens,
              &Head::first_token_share),
      of_head(info_of("attention_effective_rank", "", true),
              "exp of the entropy of the maps' singular values", Need::kRanks,
              &Head::effective_rank),
      of_head(info_of("attention_stable_rank", "", true),
              "squared singular values over the largest of them", Need::kRanks, &Head::stable_rank),
      of_head(info_of("attention_row_residual", "", true),
              "how far rows of maps are from their mean, 0 to 1", Need::kNoWindows,
              &Head::row_residual),
      of_head(info_of("attention_distance", "px", true),
              "distance between patches, weighted with attention (images in a grid)",
              Need::kPatches, &Head::mean_distance),
      of_head(info_of("negative_mass", "%", true),
              "share of the sizes of weights that are negative; 0 of softmax", Need::kMap,
              &Head::negative_mass),
      of_head(info_of("row_cancellation", "%", true),
              "how much of a row's sizes its signs take from its sum", Need::kMap,
              &Head::row_cancellation),
      of_head(info_of("map_cancelled", "%", true),
              "of maps that are a difference P - N: share of both that is gone", Need::kDifference,
              &Head::cancelled),
      of_head(info_of("map_inhibited", "%", true), "of the same: share of N that meets P",
              Need::kDifference, &Head::inhibited),
      of_layer(info_of("head_similarity", "", false), "cosine of the maps of two heads of a layer",
               &Layer::head_similarity),
      of_layer(info_of("head_divergence", "nats", true),
               "Jensen-Shannon divergence of the rows of two heads of a layer", &Layer::head_js),
      of_tokens(info_of("token_similarity", "", false), "cosine of two tokens behind a block",
                [](const TokenDiagnostics& t) { return t.similarity; }),
      of_tokens(info_of("token_norm_ratio", "", false),
                "largest norm of a token behind a block over the median",
                [](const TokenDiagnostics& t) { return t.ratio; }),
      of_tokens(info_of("high_norm_tokens", "", false),
                "tokens of a sample with more than 4 times the median norm",
                [](const TokenDiagnostics& t) { return static_cast<double>(t.high_norm); }),
      of_tokens(info_of("massive_activations", "", false),
                "entries of a sample's tokens above 100 in size and 1000 times the median size",
                [](const TokenDiagnostics& t) { return static_cast<double>(t.massive); }),
      {.info = info_of("head_importance", "", true),
       .help = "how much the loss of a sample would change with a head, by its gradient (Michel)",
       .need = Need::kClass}};
}

}  // namespace

const char* text_of(DiagnosticNeed need) {
  switch (need) {
    case Need::kMap:
      return "attention over tokens";
    case Need::kAllTokens:
      return "attention of all tokens to all tokens";
    case Need::kNoWindows:
      return "attention without windows";
    case Need::kRanks:
      return "attention without windows over at most 1024 tokens";
    case Need::kPatches:
      return "attention over patches of an image";
    case Need::kSeveralHeads:
      return "attention with two or more heads";
    case Need::kDifference:
      return "attention maps that are the difference of two";
    case Need::kTokens:
      return "blocks that hand on tokens";
    case Need::kClass:
      return "a classifier with heads that end in a projection, and the classes of samples";
  }
  return "";
}

bool fulfils(const LayerMap& map, DiagnosticNeed need) {
  switch (need) {
    case Need::kMap:
      return true;
    case Need::kAllTokens:
      return map.keys == LayerMap::Keys::kAllTokens;
    case Need::kNoWindows:
      return map.keys != LayerMap::Keys::kOfWindow;
    case Need::kRanks:
      return map.keys != LayerMap::Keys::kOfWindow && map.parts.front().rows <= kMostRankTokens;
    case Need::kPatches:
      return !map.distances.empty();
    case Need::kSeveralHeads:
      return map.heads > 1;
    case Need::kDifference:
      return !map.positive.empty();
    case Need::kTokens:
    case Need::kClass:
      return false;
  }
  return false;
}

const std::vector<AttentionMetric>& attention_metrics() {
  static const std::vector<AttentionMetric> all = made_metrics();
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

}  // namespace fovea::explain
