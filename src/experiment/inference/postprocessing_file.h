// postprocessing.json in the folder of a run: the post-processing that was chosen for its weights.
#pragma once

#include <string>
#include <vector>

#include "experiment/run/open_run.h"
#include "training/inference/choose_postprocessing.h"

namespace fovea::experiment {

/// Its content, by schema: {"keep_largest", "min_size", "weights" (weights_hash), "checkpoint",
/// "split", "cases", "steps" [{"keep_largest", "dice_before", "dice_after", "taken"}]}.
schema::Value described(const training::PostprocessingChoice& choice, const Opened& opened,
                        data::Split split);

/// The word of --keep-largest that leaves predictions as they are.
inline constexpr const char* kNoPostprocessing = "none";

/// Gives the tasks of one run, or of several that are averaged, the post-processing that is asked
/// for or, where nothing is, that of postprocessing.json: of several runs where they have the same.
/// Returns what the user should know. Throws ConfigError for what does not fit the runs.
std::vector<std::string> use_postprocessing(const std::vector<Opened>& opened,
                                            const training::PostprocessingOptions& asked);

}  // namespace fovea::experiment
