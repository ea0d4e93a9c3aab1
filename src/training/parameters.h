// The parameters of a network, for the optimiser.
#pragma once

#include <vector>

#include "nn/module.h"
#include "optim/optimiser.h"

namespace fovea::training {

/// All parameters of a network with their places in the order of its layers
/// (models/layer_order.h).
std::vector<optim::Parameter> parameters_of(nn::Module& network);

}  // namespace fovea::training
