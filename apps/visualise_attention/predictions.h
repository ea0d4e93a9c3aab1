// Segmentations of several networks beside the truth.
#pragma once

#include "common/app.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// predictions.png: the images with their truth and what every run makes of them (gdla figures 4
/// and 5), and prints the Dice of each. Throws ConfigError for runs that are no segmentation, or of
/// other images or classes, and for images that are no samples of the split.
void draw_predictions(const Arguments& args, const Common& common);

}  // namespace fovea::apps
