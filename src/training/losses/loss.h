// The "loss" section of an experiment file.
#pragma once

#include <functional>

#include "models/network.h"
#include "schema/describe/description.h"
#include "training/losses/class_weights.h"

namespace fovea::training {

/// Mean loss of a batch, (), from what a network gives and what it should have given.
using Loss = std::function<Tensor(const models::Outputs& output, const Tensor& target)>;

/// What a network is compared with.
enum class Compares {
  kClasses,    // logits (b, classes) with labels (b) int64, or probabilities (b, classes)
  kMasks,      // maps (b, k, ...) with masks (b, k, ...) in [0, 1]: each map is one of its own
  kLabelMaps,  // maps (b, k, ...) with labels (b, ...) int64: every pixel is of one class
  kRegions,    // maps (b, k, ...) with masks (b, k, ...) int64, 0, 1 or to be ignored: as kMasks
  kSequences,  // logits (b, t, symbols) of which frames (b) count, with symbols (b, s) int64, 0
               // behind the end of each
};

/// All losses, of whatever kind.
schema::Choices loss_choices();
/// Whether a loss is one for that; false for an unknown type.
bool compares(const schema::Component& component, Compares what);
/// Of several maps (deep supervision) it is the sum over the maps, each resized to the target's
/// size, by the option map_weights. counts: for weights that follow from the training samples.
/// Throws ConfigError for an unknown type, one that compares something else, or options that do not
/// fit.
Loss make_loss(const schema::Component& component, Compares compares,
               const LabelCounts& counts = {});

}  // namespace fovea::training
