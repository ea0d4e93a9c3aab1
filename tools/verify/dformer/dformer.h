// Runners of the dformer paper's cases whose operators other papers have, too.
#pragma once

#include "verify/case.h"

namespace fovea::verify {

/// "attention_rollout" over blocks that attend inside units.
void run_unit_rollout(const Case& c, Checker& check);
/// "sgd" with several parameters and a clipped norm.
void run_sgd_of_several(const Case& c, Checker& check);

}  // namespace fovea::verify
