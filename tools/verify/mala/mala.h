// What runners of the mala paper's cases share.
#pragma once

#include <memory>

#include "models/model.h"
#include "ops/attention/magnitude_attention.h"
#include "verify/case.h"

namespace fovea::verify {

/// Rotary tables (n, dim / 2) as the cases have them, every number twice: (n, dim).
Tensor twice(const Tensor& x);
/// Runs a causal case token by token, and compares its outputs and last state.
void compare_state(const Case& c, const ops::MagnitudeOptions& options,
                   const ops::RotaryTables& rotary, Checker& check);

/// The Swin network of a case's configuration, for the images of the case.
std::unique_ptr<models::Model> swin_network(const Case& c);

}  // namespace fovea::verify
