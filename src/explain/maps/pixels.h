// From gradients of pixels, or of the numbers of words, to one number a place.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea::explain {

/// How the channels of a place become one number.
enum class Reduce { kSum, kAbsSum, kAbsMax, kL2 };

/// One sample (channels, places) -> (places).
std::vector<double> reduced(const std::vector<double>& values, std::int64_t channels,
                            Reduce reduce);

/// Nodes t_k in [0, 1] and weights w_k of the integral over the way from a baseline to the input.
enum class PathRule { kGaussLegendre, kMidpoint, kRight, kTrapezoid };
struct PathNodes {
  std::vector<double> at, weights;
};
/// Throws ConfigError for less than one step, two for kTrapezoid.
PathNodes path_nodes(PathRule rule, std::int64_t steps);

/// RISE (Petsiuk et al., 2018): the mean over masks (N, places) of score times mask, over the share
/// of cells that are kept.
std::vector<double> rise_map(const std::vector<double>& masks, const std::vector<double>& scores,
                             double keep);

}  // namespace fovea::explain
