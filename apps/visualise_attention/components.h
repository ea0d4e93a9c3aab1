// What layers see of images.
#pragma once

#include "common/app.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// pca-<run>.png: the images and, beside each, the first three principal components of its patches
/// in every chosen layer as red, green and blue; components are those of all images together.
/// pca.csv: the variance that they explain, which is also printed. Throws ConfigError for networks
/// of texts, networks whose layers record no features, and layers that there are none of.
void draw_components(const Arguments& args, const Common& common);

}  // namespace fovea::apps
