// What eval was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/intervention_flags.h"
#include "training/inference/postprocessing.h"
#include "training/store/foreign_weights.h"

namespace fovea::apps {

struct EvalArguments {
  std::vector<std::string> runs;  // or an experiment file, with weights
  std::string split;              // empty: the one that the run reports
  std::string checkpoint;
  std::optional<bool> averaged;
  training::ForeignWeights weights;
  std::string out;
  std::vector<std::string> overrides;
  std::vector<std::string> noise;
  std::vector<double> levels;
  bool no_noise = false;
  std::vector<std::string> mirror;  // axes
  training::PostprocessingOptions postprocessing;
  bool choose_postprocessing = false;
  std::vector<std::string> save;
  std::int64_t overlays = 12;
  InterventionFlags interventions;
  std::int64_t seed = 1;  // of drawn patches
  int threads = 0;
};

}  // namespace fovea::apps
