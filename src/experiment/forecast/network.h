// How long ranks take to have the sum of their gradients (docs/forecast.md has the formulas).
#pragma once

#include <cstdint>

namespace fovea::experiment {

/// What connects the ranks. Bandwidths are bytes a second that one rank sends while it receives as
/// many.
struct Network {
  double net = 0;                   // to ranks on other machines, or to all where it is the same
  double node_net = 0;              // to ranks on the same machine
  double latency = 5e-6;            // seconds that a message takes besides its bytes
  std::int64_t ranks_per_node = 1;  // on one machine
};

enum class SumKind {
  kOrdered,  // parallel::OrderedSum: what fovea train does, through memory of the host
  kRing,     // all-reduce in rings, within machines and between them, as NCCL does
};

/// What one rank spends on the sums of a step.
struct SumCosts {
  double network_s = 0;   // seconds
  double host_s = 0;      // seconds of copies and additions in memory of the host
  double bytes_sent = 0;  // the mean over ranks, without the few bytes that say how long lists are
};

/// The sums of a step.
struct SumTask {
  SumKind kind = SumKind::kOrdered;
  double bytes = 0;          // of the gradients of a rank, as they travel
  std::int64_t rounds = 1;   // of ordered sums: lists that each rank adds
  std::int64_t buckets = 1;  // in which ordered sums travel
  double weights = 0;        // bytes of all weights, where each rank updates its part of them
  double host_copy = 0;      // bytes a second
};

/// One rank sends nothing and spends nothing.
SumCosts sum_costs(const SumTask& task, const Network& network, std::int64_t ranks);

}  // namespace fovea::experiment
