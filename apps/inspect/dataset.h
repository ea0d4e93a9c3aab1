// inspect dataset: what a data set holds, and what cannot be read.
#pragma once

#include "schema/json/value.h"

namespace fovea::apps {

/// Reads every sample of the data set of a resolved experiment and prints what was found.
int inspect_dataset(const schema::Value& resolved, bool json);

}  // namespace fovea::apps
