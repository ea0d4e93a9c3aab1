// Explanations as segmentations of the object (Chefer et al., CVPR 2021). explain B.9.
#pragma once

#include "explain/scores/score.h"

namespace fovea::explain {

/// Maps against labels over a data set.
class SegmentationTest {
 public:
  /// What was made of one map: scaled to [0, 1] by its least and largest value, 0 if all are equal,
  /// and where it is above its mean.
  struct Segmented {
    std::vector<std::uint8_t> foreground;  // (height, width)
    double ap = 0;  // average precision of 1 - map and map against background and foreground
  };
  /// A map and its labels: 0 background, 1 object, 255 or -1 ignored. ap is 0 where all pixels are
  /// ignored. Throws ShapeError unless both are as long, ConfigError for another label.
  Segmented add(std::span<const double> map, std::span<const std::int64_t> labels);

  /// Shares of all pixels so far that are no ignored ones; NaN without any.
  double pixel_accuracy() const;
  /// Sums of intersections over sums of unions, of background (0) and object (1).
  double iou(std::size_t label) const;
  double mean_iou() const { return (iou(0) + iou(1)) / 2; }
  double mean_ap() const;

 private:
  std::int64_t counts_[2][2] = {};  // [label][foreground]
  double ap_sum_ = 0;
  std::int64_t images_ = 0;
};

}  // namespace fovea::explain
