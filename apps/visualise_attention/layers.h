// Attention across depth.
#pragma once

#include "common/app.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// Figures 2, 4 and 7 of kcla, a folder for each run where there are several.
void draw_across_depth(const Arguments& args, const Common& common);

}  // namespace fovea::apps
