// What the two halves of the dgsa table share.
#pragma once

#include <memory>

#include "models/model.h"
#include "verify/case.h"

namespace fovea::verify {

/// The network of a case's configuration, for texts or for images.
std::unique_ptr<models::Model> make_network(const Case& c, bool text);

}  // namespace fovea::verify
