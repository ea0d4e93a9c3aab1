// The training recipes of dgsa cases as the options of an experiment file.
#pragma once

#include "optim/registry.h"
#include "verify/case.h"

namespace fovea::verify {

/// AdamW, which leaves out of weight decay what the case's list "no_decay" names.
schema::Component adamw_of(const Case& c);

/// Cosine annealing by epochs.
schema::Component cosine_of(const Case& c);
/// Linear warm-up and decay by steps.
schema::Component warmup_linear_of(const Case& c);

}  // namespace fovea::verify
