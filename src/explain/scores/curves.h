// Deletion and insertion (Petsiuk et al., RISE, 2018). explain B.2.
#pragma once

#include "explain/scores/score.h"

namespace fovea::explain {

/// What is watched while units go.
enum class Watch { kProbability, kLogit };

struct CurveOptions : BaselineOptions {
  std::optional<std::int64_t> step;  // units a step; none: ceil(units / 64)
  Watch watch = Watch::kProbability;
};

/// What the network says with min(t step, units) units changed, t = 0 ... ceil(units / step).
struct Curve {
  std::vector<double> values;
  std::vector<double> shares;  // of the changed units
  /// The area over the share of changed units, by trapezoids.
  double auc = 0;
};

/// Units in the order of falling relevance are replaced by the baseline.
Curve deletion_curve(const Explained& explained, const CurveOptions& options);
/// From the baseline image, units in the same order are put back.
Curve insertion_curve(const Explained& explained, const CurveOptions& options);

/// Quantus's PixelFlipping: single features, a channel of a pixel each, are replaced in the order
/// of their attribution, `features_in_step` a step. features: (channels, height, width). Values are
/// those after each step, and the area has a spacing of 1. Throws ConfigError unless steps fit.
Curve pixel_flipping(const Explained& explained, std::span<const double> features,
                     std::int64_t features_in_step, const CurveOptions& options);

/// Quantus's RegionPerturbation: what the network said of the image minus what it says with the
/// first t units of the order replaced, t = 1 ... units. `most_first`: in the order of falling
/// relevance (MoRF), else of rising relevance (LeRF).
std::vector<double> region_perturbation(const Explained& explained, bool most_first,
                                        const CurveOptions& options);

}  // namespace fovea::explain
