// Images as runs see them, without the patches that are dropped.
#pragma once

#include <optional>

#include "explain/interventions/drop_patches.h"
#include "visualise/figures/shared/image_inputs.h"

namespace fovea::explain {

/// visualise::prepared(), and then without_patches(). Samples of the split lose the same patches as
/// in every other use of the same seed.
Tensor prepared(const visualise::ImageInput& input, const visualise::ShownRun& run,
                const visualise::FigureRequest& request, const std::optional<PatchDrop>& drop);

/// The picture of an image (1, c, h, w) that a run sees, without its normalisation.
visualise::Canvas picture_of(const Tensor& image, const visualise::ShownRun& run);

}  // namespace fovea::explain
