// Numbers and intervals in JSON files.
#pragma once

#include "metrics/statistics.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// null for what is not finite.
schema::Value number_value(double value);
/// {"n", "mean", "low", "high"}.
schema::Value estimate_value(const metrics::Estimate& estimate);

}  // namespace fovea::experiment
