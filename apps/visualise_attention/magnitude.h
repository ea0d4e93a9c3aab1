// Bars of what a trained layer scores as one of its queries grows (mala figure 2).
#pragma once

#include "common/app.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// magnitude.png and magnitude.csv: scores of the query of the patch at --query with all keys of a
/// layer and head of the run, the query times 1, 2, 4 and 8. Throws ConfigError for a network whose
/// attention has no such queries, for a layer or head that is not there, and for several runs or
/// inputs.
void draw_magnitude(const Arguments& args, const Common& common);

}  // namespace fovea::apps
