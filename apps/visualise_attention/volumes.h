// Segmentations of volumes, slice by slice.
#pragma once

#include <vector>

#include "common/app.h"
#include "experiment/run/open_run.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// slices-<run>-<case>.png: slices in three planes with truth, prediction, contours and errors;
/// rollout-<run>-<case>.png: the attention of each stage over the same slices, of networks that
/// have any; and volumes-<run>.html, the page to scroll through them. Prints the Dice of each case.
/// Throws ConfigError for cases that are no samples of the split, settings of other rollouts and a
/// query outside the volume.
void draw_volumes(std::vector<experiment::Opened>& runs, const Arguments& args,
                  const Common& common);

}  // namespace fovea::apps
