// Runs whose activations are replaced by those of another input: --patch-from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/interventions/drop_patches.h"
#include "explain/interventions/patching.h"
#include "visualise/figures/figure.h"

namespace fovea::explain {

struct PatchRequest {
  visualise::FigureRequest request;  // runs, inputs, texts
  /// The other input: the number of a sample of the split, an image file, or of networks of texts
  /// words.
  std::string from;
  std::string target = "predicted";    // as target_of(), of the input that is patched
  std::optional<PatchDrop> drop = {};  // of the inputs; the other one stays whole
};

/// One input of a run.
struct PatchedInput {
  std::string run, weights;          // the run's title
  std::string input, other, target;  // names
  Patching patching;
};

/// For every run, every input. Throws ConfigError, naming the run, for networks of other kinds, and
/// as patch_activations().
std::vector<PatchedInput> patch_runs(const PatchRequest& asked);

}  // namespace fovea::explain
