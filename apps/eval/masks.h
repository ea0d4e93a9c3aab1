// Scores of a network that gives masks.
#pragma once

#include "eval/job.h"

namespace fovea::apps {

/// What results.json holds; writes the table of samples and pictures of outlines.
schema::Value evaluate_masks(const Job& job);

}  // namespace fovea::apps
