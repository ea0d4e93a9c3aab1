// Where one patch looks in one layer.
#pragma once

#include "common/app.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// scores.png: the images and beside each what the patch at the query scores in every chosen layer
/// of every run, and scores.csv, the numbers: columns run,input,layer,row,column,score. Throws
/// ConfigError for networks of texts, without attention over tokens, layers that there are none of,
/// and a query outside the image.
void draw_scores(const Arguments& args, const Common& common);

}  // namespace fovea::apps
