// What the two halves of the dgsa table share.
#pragma once

#include <memory>

#include "models/model.h"
#include "verify/case.h"

namespace fovea::verify {

/// The vision network of a case's configuration.
std::unique_ptr<models::Model> make_vit(const Case& c);

}  // namespace fovea::verify
