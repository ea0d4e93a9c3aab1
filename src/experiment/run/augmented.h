// Training images as a network sees them, epoch by epoch.
#pragma once

#include <cstdint>

#include "experiment/file/experiment.h"
#include "visualise/drawing/canvas.h"

namespace fovea::experiment {

/// A row for each of `samples` samples of train, spread over the data set: the sample, and what a
/// batch of them is in each of `epochs` epochs: augmented, mixed, with noise; without
/// normalisation. Masks lie over their images in the colours of the classes, where they are at
/// least 0.5, and grey where they do not count; below is what the colours mean. Images with
/// boxes: augmented_boxes(). Throws ConfigError for a data set that has no images.
visualise::Canvas augmented_figure(const Experiment& experiment, std::int64_t samples,
                                   std::int64_t epochs);

}  // namespace fovea::experiment
