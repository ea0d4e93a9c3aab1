// How a program ends that several processes run together.
#pragma once

#include <functional>
#include <string>

#include "parallel/ranks.h"

namespace fovea::apps {

/// After an error on this rank: one rank says it, and all end. `say` prints the line of the error
/// behind a prefix. Returns the exit code, or does not return.
int end_of_rank(parallel::Ranks& ranks, const std::function<void(const std::string& prefix)>& say,
                int code);

}  // namespace fovea::apps
