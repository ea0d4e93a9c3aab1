// At which size of image the multiply-adds of an experiment are counted for tables.
#pragma once

#include <string>

#include "experiment/file/experiment.h"
#include "experiment/run/summary.h"

namespace fovea::experiment {

/// The costs of the experiment's network on data of this shape, or at cost_img_size where the
/// experiment gives it. Throws ConfigError where that is not a size of its images, and the error of
/// the network where the size does not fit it.
Summary count_costs(const Experiment& experiment, const models::DataShape& shape);

/// The experiment and the shape of its data as if they were of cost_img_size, where the experiment
/// gives it. Throws ConfigError where that is not a size of its images.
void bring_to_cost_size(Experiment& experiment, models::DataShape& shape);

/// "224 x 224"; "" where the experiment gives no size of its own.
std::string cost_size_text(const Experiment& experiment);

}  // namespace fovea::experiment
