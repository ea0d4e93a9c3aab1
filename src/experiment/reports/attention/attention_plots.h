// Attention diagnostics over the layers of networks: a plot for each metric, a colour for each run.
#pragma once

#include <filesystem>
#include <vector>

#include "explain/diagnostics/diagnosed_runs.h"
#include "metrics/statistics.h"
#include "visualise/plots/plot.h"

namespace fovea::experiment {

/// Of the samples that have a value.
metrics::Estimate estimate_of(const std::vector<double>& samples);

/// x is the layer; a line is the mean over samples and heads with its interval of 95 %, dots are
/// heads.
std::vector<visualise::LinePlot> attention_plots(const explain::DiagnosedRuns& diagnosed);
/// .png or .svg, with the runs' names below where there are several.
void write_attention_plots(const std::filesystem::path& path,
                           const explain::DiagnosedRuns& diagnosed);

}  // namespace fovea::experiment
