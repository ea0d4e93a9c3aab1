// What controls share: methods that know nothing of the network.
#pragma once

#include "explain/methods/method.h"

namespace fovea::explain {

/// The patches of the network, or kBlocks along each side of the image or volume; of texts the
/// words.
GridSize control_grid(const Subject& subject);

}  // namespace fovea::explain
