// What of a network is trained: parameters for the optimiser, frozen ones.
#pragma once

#include <string>
#include <vector>

#include "nn/module.h"
#include "optim/optimiser.h"

namespace fovea::training {

/// All parameters of a network with their places in the order of its layers
/// (models/layer_order.h).
std::vector<optim::Parameter> parameters_of(nn::Module& network);

/// Freezes what train.freeze names (nn::Module::freeze). In the list, the last pattern that a name
/// matches decides; behind "!" it takes names out again: {"*", "!head.*"} leaves the head. Does
/// nothing without patterns; may be called again. Throws ConfigError for a pattern that matches no
/// parameter, and where nothing is left to train.
void freeze(nn::Module& network, const std::vector<std::string>& patterns);

/// "train.freeze: 1930 of 1268938 parameters are trained", or "" where all are.
std::string frozen_text(const nn::Module& network, const std::vector<std::string>& patterns);

}  // namespace fovea::training
