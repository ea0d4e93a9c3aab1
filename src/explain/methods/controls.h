// What controls share: methods that know nothing of the network.
#pragma once

#include "explain/methods/method.h"

namespace fovea::explain {

/// The units that scores remove (units_of()); of texts the words.
GridSize control_grid(const Subject& subject);

}  // namespace fovea::explain
