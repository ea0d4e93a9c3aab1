// Attention over texts.
#pragma once

#include "visualise_attention/subject.h"

namespace fovea::apps {

/// rollout-<input>.png, maps.safetensors, weights.csv and explorer.html. Runs may cut a text into
/// different words.
Drawn draw_texts(std::vector<Subject>& subjects, const Arguments& args);

}  // namespace fovea::apps
