// A pass of a network that a probe watches: how all maps begin.
#pragma once

#include <vector>

#include "models/model.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// Runs the network in evaluation mode, without recording of gradients and on its own device, on
/// images (b, c, h, w), normalised as in training, or on the ids (b, n) of texts without padding.
/// A detector is told that images fill the batch. Its detections are not part of the pass.
models::Outputs run_probed(models::Model& model, const Tensor& input, attention::Probe& probe);

/// The maps over tokens that a probe saw of one sample, in network order.
std::vector<AttentionMap> recorded_maps(const attention::Probe& probe);

}  // namespace fovea::visualise
