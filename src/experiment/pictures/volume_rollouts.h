// The attention of a run over a case: from windows, as its predictions are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiment/run/runner.h"
#include "visualise/pages/case_volume.h"

namespace fovea::experiment {

/// Adds the rollouts of every stage over the image of a volume, (1, c, d, h, w), to its case
/// (volume_case.h): without a voxel from windows that overlap by half, less an even share; with one
/// from the window around it, in even shares. Nothing for a network without attention.
void add_rollouts(Run& run, const Tensor& image, const std::optional<visualise::Sides3>& voxel,
                  visualise::CaseVolume& to);

}  // namespace fovea::experiment
