// How fast the network between ranks is, measured.
#pragma once

#include <cstdint>

#include "parallel/ranks.h"

namespace fovea::parallel {

struct NetworkSpeed {
  double latency_s = 0;    // of a message of one byte, from each to each, by how many each sends
  double bytes_per_s = 0;  // that a rank sends while it receives as many
};

/// All ranks together, at least two, each of which sends to and receives from all others at once,
/// as sums of gradients do. `bytes` that a rank sends for the bandwidth. Medians, by the clock of
/// each rank.
NetworkSpeed measure_network(Ranks& ranks, std::int64_t bytes = 16 << 20);

}  // namespace fovea::parallel
