// The regions of an image that the second stage of a detector learns from. mala 4.5.
#pragma once

#include <vector>

#include "models/detectors/detector.h"
#include "ops/detection/assign.h"

namespace fovea::models {

struct RoiSamplingOptions {
  ops::AssignOptions assigning;
  std::int64_t num_samples = 512;
  double positive_fraction = 0.25;
  std::int64_t num_classes = 80;
};

/// Sampled regions, positive ones first. The boxes of the truth are among those that can be drawn.
struct RoiSamples {
  Tensor boxes;                       // (n, 4) float32, on the host
  std::vector<std::int64_t> labels;   // n; num_classes = background
  std::vector<std::int64_t> matched;  // of the positive ones, rows of the truth
  std::vector<bool> from_truth;       // n

  std::int64_t positive() const { return std::ssize(matched); }
};

RoiSamples sample_rois(const Tensor& proposals, const DetectionTruth& truth,
                       const RoiSamplingOptions& options, const RandomStream& random);

/// The regions of a batch, (n, 5): number of the image, box; from the boxes (n_i, 4) of its images,
/// which are counted from `first`.
Tensor rois_of(const std::vector<Tensor>& boxes, std::int64_t first = 0);

}  // namespace fovea::models
