// Which class of a sample is explained, as users say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "explain/baselines.h"
#include "explain/subject.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::explain {

/// The name of a class of the run, "class 7" where it has none.
std::string class_name(const visualise::ShownRun& run, std::int64_t c);

/// The class that `target` means for sample i of the subject: "predicted", "label", or the name or
/// number of a class. Throws ConfigError for another, and for "label" without one.
std::int64_t target_of(const std::string& target, const visualise::ShownRun& run,
                       const Subject& subject, std::int64_t i, std::optional<std::int64_t> label);

/// What the run's images were normalised with; nothing for texts.
Colours colours_of(const visualise::ShownRun& run);

}  // namespace fovea::explain
