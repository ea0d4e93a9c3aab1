// How many weights of a trained network's attention are negative.
#pragma once

#include <cstdint>
#include <string>

#include "common/app.h"

namespace fovea::apps {

struct SignsArguments {
  std::string run, checkpoint, split;
  std::int64_t samples = 8;
};

/// The subcommand "signs" of inspect; to be asked whether it was given.
Options add_signs(Options cli, SignsArguments& args);
int print_signs(const SignsArguments& args, bool json);

}  // namespace fovea::apps
