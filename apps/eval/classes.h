// Scores of a network that gives classes, of images and of texts.
#pragma once

#include "eval/job.h"

namespace fovea::apps {

/// What results.json holds; writes the tables and the picture of the confusion matrix.
schema::Value evaluate_classes(const Job& job);

}  // namespace fovea::apps
