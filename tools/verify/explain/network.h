// The networks that cases of explanations are about, each from the words of its own paper's cases.
#pragma once

#include <memory>

#include "models/model.h"
#include "verify/case.h"

namespace fovea::verify {

/// The network of the case's word "network", {"paper", "operator", "config"}, with the parameters
/// of the case, in evaluation mode. Throws NotImplemented for another network, and for a word of
/// its configuration that nothing reads.
std::unique_ptr<models::Model> network_of(const Case& c, Checker& check);

}  // namespace fovea::verify
