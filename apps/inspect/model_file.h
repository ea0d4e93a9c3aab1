// inspect FILE.fovea: what a run that was exported is.
#pragma once

#include <string>

namespace fovea::apps {

int print_model_file(const std::string& file, bool json);

}  // namespace fovea::apps
