// ROAD, remove and debias (Rong et al., ICML 2022). explain B.7.
#pragma once

#include <functional>

#include "explain/scores/score.h"

namespace fovea::explain {

struct RoadOptions {
  std::vector<double> levels = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
  double noise_scale = 0.01;
};

/// What the network says with floor(level units) units removed and imputed from their neighbours
/// (impute_linear), the most relevant first (MoRF) or the least relevant first (LeRF).
struct Road {
  std::vector<double> morf_prob, lerf_prob;  // of the class, for every level
  std::vector<bool> morf_hit, lerf_hit;      // the class is predicted

  /// (mean of LeRF - mean of MoRF) / 2 of the probabilities.
  double score() const;
};
/// noise(level, least): standard normal values of the image's size, for imputed pixels; asked only
/// where noise_scale is not 0. `least`: for LeRF. Throws ConfigError without levels.
Road road(const Explained& explained, const RoadOptions& options,
          const std::function<std::vector<double>(std::size_t level, bool least)>& noise);

}  // namespace fovea::explain
