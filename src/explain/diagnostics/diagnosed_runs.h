// Attention diagnostics of runs side by side, on samples of a split.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "explain/diagnostics/attention_diagnosis.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::explain {

struct DiagnosisRequest {
  std::vector<visualise::ShownRun> runs;
  std::vector<std::string> metrics;  // none: all that are defined for some run
  std::int64_t limit = 64;           // samples, spread evenly over the split
  std::function<void(const std::string&)> note = [](const std::string&) {};
  std::function<void(double share)> progress = {};  // told how much is done
};

struct DiagnosedRun {
  std::string name, title, weights;
  std::vector<DiagnosedMetric> metrics;  // as asked, in the order of attention_metrics()
};

struct DiagnosedRuns {
  std::string split;
  std::int64_t available = 0;  // samples of the split
  std::int64_t samples = 0;    // that were looked at
  std::vector<DiagnosedRun> runs;
};

/// Metrics that are defined for no run are left out with a note; for one of several runs they have
/// no value. Throws ConfigError for unknown names, for one that is asked for by name and not
/// defined for a run, and for runs whose networks read no images or texts or whose samples differ.
DiagnosedRuns diagnose_runs(const DiagnosisRequest& asked);

}  // namespace fovea::explain
