// The network between ranks, as words for fovea inspect --forecast.
#pragma once

#include <string>

#include "parallel/ranks.h"

namespace fovea::bench {

/// Measures it, all ranks together. "latency=3.1us net=38G" in a line, or one JSON object; "" on
/// all ranks but the first. Throws ConfigError for one process alone.
std::string network_words(parallel::Ranks& ranks, bool json);

}  // namespace fovea::bench
