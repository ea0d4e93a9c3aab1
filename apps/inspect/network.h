// inspect EXPERIMENT: what its network is made of, and what a training step costs.
#pragma once

#include "schema/json/value.h"

namespace fovea::apps {

/// Prints parameters, multiply-adds and memory of a resolved experiment, with `depth` levels of
/// modules; returns the exit status.
int summarise(const schema::Value& resolved, int depth, bool json);
/// Runs a training step on random inputs, and prints its time and memory by operation.
int profile_step(const schema::Value& resolved, bool json);

}  // namespace fovea::apps
