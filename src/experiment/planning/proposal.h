// What a survey of a data set proposes for an experiment file: nnU-Net's plan of a U-Net
// (unet_plan.h), as large as our own estimate of a training step says that memory allows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/survey.h"
#include "experiment/planning/unet_plan.h"
#include "models/model.h"
#include "schema/json/value.h"

namespace fovea::experiment {

struct ProposalRules {
  UNetRules unet;
  std::int64_t most_bytes = 0;  // of a training step; 0: no limit
  std::int64_t most_macs = 0;   // multiply-adds of a training step; 0: no limit
  std::int64_t most_side = 0;   // of images or patches of them, in pixels; 0: no limit
};

/// How images reach the network.
enum class ImagePlan {
  kSquares,  // resized; where all have one square size, or the data set has no patches
  kPatches,  // at their own size, or scaled with their aspect ratio
};

struct Proposal {
  UNetFingerprint fingerprint;
  ImagePlan images = ImagePlan::kSquares;  // of images
  std::int64_t longest = 0;  // of patches: the longer side that images are brought to; 0: none
  UNetPlan plan;
  UNetRules rules;              // those asked for, or less memory where a step did not fit
  std::int64_t peak_bytes = 0;  // of a training step, estimated
  std::int64_t macs = 0;        // of a training step, forward and backward
  schema::Value settings;       // keys of an experiment file
};

/// For volumes and for images with masks. `resolved`: an experiment with that data set; its network
/// does not count. Throws ConfigError for other data, for a survey without a sample of train, and
/// where no patch is small enough.
Proposal propose(const schema::Value& resolved, const data::Survey& survey,
                 const models::DataShape& shape, const ProposalRules& rules = {});

schema::Value to_json(const Proposal& proposal);
std::string to_text(const Proposal& proposal);

}  // namespace fovea::experiment
