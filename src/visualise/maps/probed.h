// A pass of a network that a probe watches: how all maps begin.
#pragma once

#include "models/model.h"

namespace fovea::visualise {

/// Runs the network in evaluation mode, without recording of gradients and on its own device, on
/// images (b, c, h, w), normalised as in training, or on the ids (b, n) of texts without padding.
/// A detector is told that images fill the batch. Its detections are not part of the pass.
models::Outputs run_probed(models::Model& model, const Tensor& input, attention::Probe& probe);

}  // namespace fovea::visualise
