// Training images with their objects as a network sees them, epoch by epoch.
#pragma once

#include <cstdint>
#include <string>

#include "data/boxes/box_dataset.h"
#include "visualise/drawing/canvas.h"

namespace fovea::experiment {

/// A row for each of `samples` samples, spread over the data set: the sample at the size of
/// evaluations, and what it is in each of `epochs` epochs of a run with this seed: augmented, with
/// noise, without normalisation and without the zeros that a batch adds. Objects have boxes and
/// names, and masks where the data set has them; a crowd is called so.
visualise::Canvas augmented_boxes(const data::BoxDataset& train, const std::string& title,
                                  std::uint64_t seed, std::int64_t samples, std::int64_t epochs);

}  // namespace fovea::experiment
