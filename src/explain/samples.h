// Samples of a split that several runs are judged on.
#pragma once

#include <cstdint>
#include <vector>

#include "visualise/figures/shared/shown_run.h"

namespace fovea::explain {

/// At most `limit` samples, spread evenly over the split, so that one whose samples lie class by
/// class gives all classes. Throws ConfigError, naming the run, where it has none, and where runs
/// do not have the same.
std::vector<std::int64_t> common_samples(const std::vector<visualise::ShownRun>& runs,
                                         std::int64_t limit);

}  // namespace fovea::explain
