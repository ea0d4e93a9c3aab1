// How a run makes an image from noise, step by step, for pictures of it. mala 4.7.
#pragma once

#include <cstdint>
#include <vector>

#include "experiment/run/runner.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::experiment {

/// Makes an image of a class (-1: of none) by the run's eval.sampler and returns `count` of its
/// steps, spread from the second to the last. The same seed gives the same image. Throws
/// ConfigError for a run that makes no images, and for a sampler of fewer steps than `count` + 1.
std::vector<visualise::DenoisingStep> denoising_steps(Run& run, std::int64_t label,
                                                      std::int64_t count, std::uint64_t seed);

}  // namespace fovea::experiment
