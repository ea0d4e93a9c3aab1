// Flags for weights of other programs, the same in every app.
#pragma once

#include <optional>
#include <string>

#include "common/options.h"
#include "training/store/foreign_weights.h"

namespace fovea::apps {

/// --strip-prefix, --rename, --names, --interpolate-pos-embed.
void add_renaming_flags(Options cli, training::ForeignWeights& weights);
/// --ignore and --allow-random, of apps that only look at a network.
void add_mismatch_flags(Options cli, training::ForeignWeights& weights);

/// What is looked at, and by which weights of a run: --split, --checkpoint, --ema and --no-ema; of
/// the last two nothing is set by neither.
void add_subject_flags(Options cli, std::string& split, std::string& checkpoint,
                       std::optional<bool>& averaged);

}  // namespace fovea::apps
