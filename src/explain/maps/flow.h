// Attention flow (Abnar & Zuidema, 2020): how much can flow from the output to each input token.
#pragma once

#include <span>

#include "explain/maps/tokens.h"

namespace fovea::explain {

struct AttentionFlow {
  std::vector<double> values;     // of all n tokens: maximum flows, each at most 1
  std::vector<double> relevance;  // over their sum, behind the prefix
};

/// Node (l, i) is joined to (l - 1, j) with the capacity (mean_h A[i, j] + I) / 2. The source is
/// the class token of the last layer or, without one, a node joined to all of its tokens with 1/n
/// each; the sink is an input token. Exact (Dinic's algorithm) in float64; costs n flows in a graph
/// of L n^2 edges. Throws ConfigError for weights below 0.
AttentionFlow attention_flow(std::span<const visualise::AttentionMap> layers,
                             const TokenLayout& layout);

}  // namespace fovea::explain
