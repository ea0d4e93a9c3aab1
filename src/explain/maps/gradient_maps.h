// Relevance of tokens from maps A and their gradients dA: Chefer et al., CVPR 2021 (the rollout
// without LRP, and the GradCAM baseline) and ICCV 2021 (the rule of generic attention). The sign of
// A dA is that of the effect, whatever the sign of A.
#pragma once

#include <span>

#include "explain/maps/tokens.h"

namespace fovea::explain {

/// The map of one layer for one sample (heads, n, n), and d z_c / d A of the same shape.
struct GradedMap {
  visualise::AttentionMap map;
  visualise::AttentionMap gradient;
};

/// The mean over heads of A dA, elementwise; with `positive` of what is above 0.
Matrix weighted_map(const GradedMap& layer, bool positive);

/// G_l = rows of C_l + I divided by their sums, R = G_L ... G_start: its row over the tokens behind
/// the prefix. Layers in order of the network; start_layer from 0. Throws ConfigError for one that
/// is not there.
std::vector<double> gradient_rollout(std::span<const Matrix> layers, const TokenLayout& layout,
                                     std::int64_t start_layer = 0);
/// R_0 = I, R_l = R_{l-1} + C_l R_{l-1}: the row of R_L.
std::vector<double> generic_relevance(std::span<const Matrix> layers, const TokenLayout& layout);

/// With a class token w_h = mean over tokens j behind the prefix of dA[h, 0, j] and
/// r_j = [mean_h w_h A[h, 0, j]]+; without one both are means over rows too.
std::vector<double> attention_gradcam(const GradedMap& layer, const TokenLayout& layout);

}  // namespace fovea::explain
