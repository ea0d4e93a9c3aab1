// What detectors find, and what there is, in pixels of the size that is asked for: that of the
// file, or that of a picture of it.
#pragma once

#include <vector>

#include "data/boxes/box_dataset.h"
#include "metrics/detection/objects.h"
#include "models/detectors/detector.h"
#include "training/tasks/task_report.h"

namespace fovea::training {

/// Detections in an image that the network saw at size `seen`, in one of `size`: boxes are scaled
/// and clipped, and masks, where there are any, pasted there and cut at 0.5. mala 4.5.
std::vector<metrics::DetectedObject> objects_at(const models::Detections& found,
                                                const models::ImageSize& seen,
                                                const models::ImageSize& size);

/// The truth of an image as its file has it, with nothing found.
DetectedImage true_image(data::BoxTruth truth);
/// That truth in a picture of another size; pixels of masks are the nearest ones.
std::vector<metrics::TruthObject> objects_at(const DetectedImage& image,
                                             const models::ImageSize& size);

}  // namespace fovea::training
