// Flags for weights of other programs, the same in every app.
#pragma once

#include <optional>

#include "common/options.h"
#include "training/foreign_weights.h"

namespace fovea::apps {

/// --strip-prefix, --rename, --interpolate-pos-embed.
void add_renaming_flags(Options cli, training::ForeignWeights& weights);
/// --ignore and --allow-random, of apps that only look at a network.
void add_mismatch_flags(Options cli, training::ForeignWeights& weights);

/// --ema and --no-ema; of neither, nothing is set.
void add_averaged_flags(Options cli, std::optional<bool>& averaged);

}  // namespace fovea::apps
