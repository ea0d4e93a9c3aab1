// Explanations of what runs say of images and texts: pictures with runs and methods side by side,
// maps and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/interventions/drop_patches.h"
#include "explain/pictures/asked_methods.h"
#include "visualise/figures/figure.h"

namespace fovea::explain {

struct ExplainedRuns {
  visualise::FigureRequest request;  // runs, inputs, texts, folder
  std::vector<AskedMethod> methods;
  /// The class that is explained: "predicted", "label", or the name or number of a class.
  std::string target = "predicted";
  /// Of segmentations, the pixels whose logits are summed (region.h); empty: those that are
  /// predicted to be of the class.
  std::string region = {};
  std::uint64_t seed = 1;
  std::int64_t batch_size = 32;             // inputs in a pass
  std::optional<PatchDrop> drop = {};       // patches of images that go first
  bool page = false;                        // for the browser, too
  bool smooth = false;                      // maps of patches, in pictures
  double overlay = 0.4;                     // share of the image under a map
  std::optional<std::int64_t> factor = {};  // enlargement of images; none: up to about 256 pixels
};

/// Writes explain.png (of texts one picture each, explain-<text>.png), relevance.csv (a line for
/// each place of each map), explained.csv (a line for each input, run and method) and
/// maps.safetensors: <run>/<method>/<input> (h, w) float64; with `page` explain.html
/// (explained_page.h). Of volumes as explained_volumes.h says.
/// Throws ConfigError, naming the run, for
/// networks that a method is not defined for, and for targets that are no class.
void explain_runs(const ExplainedRuns& asked);

}  // namespace fovea::explain
