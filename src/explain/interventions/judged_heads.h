// What each head of runs is worth, on samples of a split: the loss and the accuracy without it, and
// the importance that its gradient gives it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "explain/diagnostics/head_importance.h"
#include "metrics/statistics.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::explain {

struct HeadRequest {
  std::vector<visualise::ShownRun> runs;
  std::int64_t limit = 100;       // samples, spread evenly over the split
  std::int64_t batch_size = 128;  // in a pass
  /// After each of `total` passes.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
  std::function<bool()> stop = [] { return false; };  // asked before each
};

/// One head. Differences are without it minus with it.
struct JudgedHead {
  metrics::Estimate loss, top1, importance;  // over samples; top1 in shares of samples
  double loss_p = 0;  // sign-flip test of the difference of losses, adjusted over the run's heads
                      // (Holm)
};

struct JudgedRun {
  std::string name, title, weights;
  double loss = 0, top1 = 0;                   // of the network as it is
  std::vector<std::string> modules;            // the attentions, in network order
  std::vector<std::vector<JudgedHead>> heads;  // of each of them
  HeadTable normalised_importance;             // normalised_by_layer()
};

struct JudgedHeads {
  std::string split;
  std::int64_t samples = 0, available = 0;
  std::vector<JudgedRun> runs;
};

/// Throws ConfigError, naming the run, for one that does not classify images or texts, for runs
/// with other samples, and as head_sites(); Interrupted where it is stopped.
JudgedHeads judge_heads(const HeadRequest& asked);

}  // namespace fovea::explain
