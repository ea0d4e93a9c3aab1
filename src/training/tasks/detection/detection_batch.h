// Batches of images with boxes, as detectors take them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch.h"
#include "models/detectors/detector.h"

namespace fovea::training {

/// Sizes of the images of a batch, without the zeros behind them. Throws ConfigError for a batch
/// that has none.
std::vector<models::ImageSize> image_sizes(const data::Batch& batch);

/// What the images of a batch hold, crowds apart from the objects; with masks where they are asked
/// for and the batch has them.
std::vector<models::DetectionTruth> truth_of(const data::Batch& batch, bool masks);

/// Images on `device` with a few objects of different sizes, whose masks are ellipses; sizes and
/// truth are on the host, as in every batch.
data::Batch random_detection_batch(const models::DataShape& shape, std::int64_t size,
                                   const Device& device);

}  // namespace fovea::training
