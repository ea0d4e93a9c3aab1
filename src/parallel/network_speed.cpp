#include "parallel/network_speed.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"

namespace fovea::parallel {
namespace {

// The median time of an exchange in which all send each other so many bytes.
double exchange_s(Ranks& ranks, std::size_t bytes, int times) {
  using Clock = std::chrono::steady_clock;
  const auto others = static_cast<std::size_t>(ranks.size() - 1);
  const std::vector<std::byte> content(bytes);
  std::vector<std::byte> room(bytes * others);
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  for (int r = 0; r < ranks.size(); ++r) {
    if (r == ranks.rank()) continue;
    received.push_back({r, std::span(room).subspan(sent.size() * bytes, bytes)});
    sent.push_back({r, content});
  }
  std::vector<double> seconds;
  for (int i = -2; i < times; ++i) {  // the first ones connect
    ranks.meet();
    const auto start = Clock::now();
    ranks.exchange(sent, received);
    if (i >= 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + times / 2);
  return seconds[static_cast<std::size_t>(times / 2)];
}

}  // namespace

NetworkSpeed measure_network(Ranks& ranks, std::int64_t bytes) {
  FOVEA_CHECK(!ranks.alone(), ConfigError,
              "one process has no network; start at least two: mpirun -n 2 ...");
  const double others = ranks.size() - 1;
  const double small = exchange_s(ranks, 1, 201);
  const std::int64_t piece = std::max<std::int64_t>(1, bytes / (ranks.size() - 1));
  const double large = exchange_s(ranks, static_cast<std::size_t>(piece), 11);
  return {.latency_s = small / others,
          .bytes_per_s = static_cast<double>(piece) * others / std::max(large - small, 1e-9)};
}

}  // namespace fovea::parallel
