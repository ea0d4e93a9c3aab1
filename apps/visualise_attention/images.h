// Attention over images.
#pragma once

#include "visualise_attention/subject.h"

namespace fovea::apps {

/// rollout.png, maps.safetensors, weights.csv, explorer.html and, with --heads, every layer and
/// head of each run. Throws ConfigError for runs that see images of different sizes.
Drawn draw_images(std::vector<Subject>& subjects, const Arguments& args);

}  // namespace fovea::apps
