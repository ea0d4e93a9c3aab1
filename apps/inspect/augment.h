// Training images as a network sees them.
#pragma once

#include <cstdint>
#include <string>

#include "common/options.h"
#include "schema/json/value.h"

namespace fovea::apps {

struct AugmentArguments {
  std::int64_t samples = 6;
  std::int64_t epochs = 6;
  std::string out = "augment.png";
};

/// The subcommand "augment" with its word EXPERIMENT. Both arguments must outlive the parsing.
Options add_augment(Options cli, std::string& experiment, AugmentArguments& args);
/// Draws samples of train, spread over the data set, and what a batch of them is in each epoch:
/// augmented, mixed, with noise; without normalisation. Returns the exit status. Throws ConfigError
/// for a data set of texts.
int draw_augmented(const schema::Value& resolved, const AugmentArguments& args);

}  // namespace fovea::apps
