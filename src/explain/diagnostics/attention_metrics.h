// Diagnostics of attention maps and tokens by name: as experiments ask for them (eval.metrics) and
// as fovea inspect attention shows them. explain C.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/diagnostics/map_diagnostics.h"
#include "explain/diagnostics/token_diagnostics.h"
#include "metrics/metric_info.h"

namespace fovea::explain {

/// What a layer must have for a diagnostic to be defined.
enum class DiagnosticNeed {
  kMap,           // attention over tokens
  kAllTokens,     // of all tokens on all
  kNoWindows,     // one map for all tokens
  kRanks,         // and few enough of them for singular values
  kPatches,       // places in an image
  kSeveralHeads,  // two or more
  kDifference,    // a map that is the difference of two
  kTokens,        // it hands on tokens; of blocks, not of attentions
  kClass,         // a loss of classes depends on it; of heads that end in a projection
};
/// "attention of all tokens to all tokens".
const char* text_of(DiagnosticNeed need);
/// Whether a layer has it; false of kTokens and kClass, which no map tells.
bool fulfils(const LayerMap& map, DiagnosticNeed need);

/// One of them. It has one of the sources: a value of the maps for each head or each layer, or of
/// the tokens of each block; without any it is head_importances().
struct AttentionMetric {
  metrics::MetricInfo info;  // its direction is the one that is usually hoped for
  std::string help;
  DiagnosticNeed need = DiagnosticNeed::kMap;
  MeanOf HeadDiagnostics::*of_head = nullptr;
  MeanOf LayerDiagnostics::*of_layer = nullptr;
  double (*of_tokens)(const TokenDiagnostics&) = nullptr;
  /// Whether every head has a value.
  bool by_head() const { return of_layer == nullptr && of_tokens == nullptr; }
};
const std::vector<AttentionMetric>& attention_metrics();
/// Null for another name.
const AttentionMetric* find_attention_metric(const std::string& name);
/// "attention_entropy: ...; sink_rate: ...".
std::string attention_metrics_help();

}  // namespace fovea::explain
