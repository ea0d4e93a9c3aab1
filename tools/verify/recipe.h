// The training recipes of dgsa cases as the options of an experiment file.
#pragma once

#include <vector>

#include "optim/registry.h"
#include "verify/case.h"

namespace fovea::verify {

/// AdamW with the library's rule that leaves out of weight decay just what the case's list
/// "no_decay" names. Throws Error if no rule does.
schema::Component adamw_of(const Case& c, const std::vector<optim::Parameter>& parameters);

/// Cosine annealing by epochs.
schema::Component cosine_of(const Case& c);
/// Linear warm-up and decay by steps.
schema::Component warmup_linear_of(const Case& c);

}  // namespace fovea::verify
