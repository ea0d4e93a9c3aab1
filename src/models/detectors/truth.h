// The truth of a batch, as losses of detectors read it.
#pragma once

#include <span>
#include <vector>

#include "models/detectors/detector.h"

namespace fovea::models {

/// Truth that losses can be computed from: without boxes of no area, from which nothing can be
/// learned, and with masks only where they are wanted. Throws ShapeError where there is not one
/// truth and one size for each of `batch` images, and for boxes that are not finite, labels outside
/// [0, num_classes), masks of another size than the image, or none where they are wanted.
std::vector<DetectionTruth> usable_truth(const std::vector<DetectionTruth>& truth,
                                         const std::vector<ImageSize>& sizes, std::int64_t batch,
                                         std::int64_t num_classes, bool masks);

/// Rows of a host tensor (n, ...), in this order.
Tensor take_rows(const Tensor& x, std::span<const std::int64_t> rows);

/// The values of a floating tensor as float32 on `host`, outside the graph.
Tensor on_host(const Tensor& x, const Device& host);
/// A copy of host values where `like` is, in its type; integers keep theirs. Outside the graph.
Tensor placed_as(const Tensor& values, const Tensor& like);

}  // namespace fovea::models
