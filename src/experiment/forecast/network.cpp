#include "experiment/forecast/network.h"

#include <algorithm>
#include <cmath>

namespace fovea::experiment {
namespace {

// Machines, and ranks on each. Where they do not fill the last one, all have equally many.
struct Layout {
  double nodes = 1, per_node = 1;
};

Layout layout_of(const Network& network, double ranks) {
  const double nodes = std::ceil(ranks / static_cast<double>(network.ranks_per_node));
  return {nodes, ranks / nodes};
}

// Every rank sends a piece, bytes / n, to each other one.
double direct_s(const Network& network, const Layout& layout, double ranks, double bytes) {
  const double near = layout.per_node - 1, far = ranks - layout.per_node;
  return bytes / ranks * (near / network.node_net + far / network.net);
}

// In each round every rank gets its piece of all lists; after the last one all get all pieces
// (parallel/ordered_sum.h), and where updates are shared out the weights as well. So each sends
// each other one a message for every bucket, in a round another one that says which gradients it
// has, and at the begin and end of a step six small ones: whether to stop, sizes of batches, losses
// (training/step.cpp).
SumCosts ordered(const SumTask& task, const Network& network, double ranks) {
  const Layout layout = layout_of(network, ranks);
  const auto rounds = static_cast<double>(task.rounds), buckets = static_cast<double>(task.buckets);
  const double messages = (2 * rounds + 1) * buckets + 6 + (task.weights > 0 ? 1 : 0);
  return {.network_s = direct_s(network, layout, ranks, (rounds + 1) * task.bytes + task.weights) +
                       messages * (ranks - 1) * network.latency,
          // A round copies the gradients from the device and adds them up; the end clears the room
          // for the sum and copies it to the device. Weights go to the host and back.
          .host_s = ((2 * rounds + 2) * task.bytes + 2 * task.weights) / task.host_copy,
          .bytes_sent = (ranks - 1) / ranks * ((rounds + 1) * task.bytes + task.weights)};
}

// Reduce-scatter within each machine, all-reduce of the pieces between machines, all-gather within:
// micro-batches of a rank are added up before. Where updates are shared out, weights take the place
// of sums in the second half.
SumCosts ring(const SumTask& task, const Network& network, double ranks) {
  const Layout layout = layout_of(network, ranks);
  const double near = 2 * (layout.per_node - 1) / layout.per_node * task.bytes;
  const double far = 2 * (layout.nodes - 1) / layout.nodes * task.bytes / layout.per_node;
  const double messages = 2 * (layout.per_node - 1) + 2 * (layout.nodes - 1);
  return {.network_s = near / network.node_net + far / network.net + messages * network.latency,
          .host_s = 0,
          .bytes_sent = near + far};
}

}  // namespace

SumCosts sum_costs(const SumTask& task, const Network& network, std::int64_t ranks) {
  if (ranks == 1) return {};
  const auto n = static_cast<double>(ranks);
  return task.kind == SumKind::kRing ? ring(task, network, n) : ordered(task, network, n);
}

}  // namespace fovea::experiment
