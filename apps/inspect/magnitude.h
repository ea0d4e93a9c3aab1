// How attention scores answer to the length of the query.
#pragma once

#include <string>

#include "common/options.h"
#include "visualise/maps/magnitude.h"

namespace fovea::apps {

struct MagnitudeArguments {
  visualise::MagnitudeSettings settings;
  std::int64_t seed = 0;
  std::string out = "magnitude.png";
};

/// The subcommand "magnitude". `args` must outlive the parsing.
Options add_magnitude(Options cli, MagnitudeArguments& args);
/// Draws and prints them (visualise/maps/magnitude.h); returns the exit status.
int draw_magnitude(MagnitudeArguments args);

}  // namespace fovea::apps
