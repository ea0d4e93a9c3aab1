#include "parallel/network_speed.h"

#include <catch2/catch.hpp>

#include "tests/parallel/threads.h"

using namespace fovea;

TEST_CASE("network speed: every rank measures", "[parallel]") {
  for (const int size : {2, 3}) {
    test::run_ranks(size, [](parallel::Ranks& ranks) {
      const parallel::NetworkSpeed speed = parallel::measure_network(ranks, 1 << 16);
      if (!(speed.latency_s > 0 && speed.latency_s < 10)) throw Error("no latency");
      if (!(speed.bytes_per_s > 0 && speed.bytes_per_s < 1e15)) throw Error("no bandwidth");
    });
  }
  // Fewer bytes than ranks.
  test::run_ranks(3, [](parallel::Ranks& ranks) { parallel::measure_network(ranks, 1); });
}

TEST_CASE("network speed: one process has none", "[parallel]") {
  parallel::Ranks alone;
  CHECK_THROWS_AS(parallel::measure_network(alone), ConfigError);
}
