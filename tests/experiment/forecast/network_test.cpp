// How long sums of gradients take, and that ordered ones send what is forecast.
#include "experiment/forecast/network.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/devices.h"
#include "parallel/ordered_sum.h"
#include "tests/parallel/threads.h"

using namespace fovea;
using experiment::Network;
using experiment::sum_costs;
using experiment::SumCosts;
using experiment::SumKind;
using experiment::SumTask;

TEST_CASE("sum costs: one rank sends nothing and waits for nothing", "[forecast]") {
  const Network slow{.net = 1, .node_net = 1, .latency = 10, .ranks_per_node = 4};
  for (const SumKind kind : {SumKind::kOrdered, SumKind::kRing}) {
    const SumCosts costs =
        sum_costs({.kind = kind, .bytes = 1e9, .rounds = 7, .host_copy = 1}, slow, 1);
    CHECK(costs.network_s == 0);
    CHECK(costs.host_s == 0);
    CHECK(costs.bytes_sent == 0);
  }
}

TEST_CASE("sum costs: rings by hand", "[forecast]") {
  const Network flat{.net = 1e9, .node_net = 1e9, .latency = 0};
  const SumCosts one_level =
      sum_costs({.kind = SumKind::kRing, .bytes = 8e9, .rounds = 3}, flat, 4);
  CHECK(one_level.bytes_sent == Approx(2 * 8e9 * 3 / 4));  // whatever the rounds
  CHECK(one_level.network_s == Approx(12));
  CHECK(one_level.host_s == 0);
  // Two machines of four: 2 x 3/4 of all bytes within at 8e9, 2 x 1/2 of a quarter between at 1e9.
  const Network nodes{.net = 1e9, .node_net = 8e9, .latency = 1e-3, .ranks_per_node = 4};
  const SumCosts two_levels =
      sum_costs({.kind = SumKind::kRing, .bytes = 8e9, .rounds = 1}, nodes, 8);
  CHECK(two_levels.bytes_sent == Approx(12e9 + 2e9));
  CHECK(two_levels.network_s == Approx(1.5 + 2 + (6 + 2) * 1e-3));
  // In one machine nothing goes between machines.
  CHECK(sum_costs({.kind = SumKind::kRing, .bytes = 8e9, .rounds = 1}, nodes, 4).network_s ==
        Approx(1.5 + 6e-3));
}

TEST_CASE("sum costs: ordered sums by hand", "[forecast]") {
  // Two machines of two; each rank sends a quarter to each other one, in two rounds and at the end.
  const Network network{.net = 1e9, .node_net = 4e9, .latency = 0, .ranks_per_node = 2};
  const SumCosts costs = sum_costs({.bytes = 8e9, .rounds = 2, .host_copy = 2e9}, network, 4);
  CHECK(costs.bytes_sent == Approx(3 * 6e9));
  CHECK(costs.network_s == Approx(3 * (2e9 / 4e9 + 4e9 / 1e9)));
  CHECK(costs.host_s == Approx((2 * 2 + 2) * 8e9 / 2e9));
  // Messages alone, to 3 others: of 10 buckets two in each of 2 rounds and one at the end, 6 small
  // ones, and one for the weights of a shared update.
  Network late = network;
  late.latency = 1e-3;
  SumTask task{.bytes = 0, .rounds = 2, .buckets = 10, .host_copy = 1};
  CHECK(sum_costs(task, late, 4).network_s == Approx(3 * (5 * 10 + 6) * 1e-3));
  task.weights = 1e-9;
  CHECK(sum_costs(task, late, 4).network_s == Approx(3 * (5 * 10 + 7) * 1e-3));
}

TEST_CASE("sum costs: weights of shared updates travel once more", "[forecast]") {
  const Network network{.net = 1e9, .node_net = 1e9, .latency = 0};
  SumTask task{.bytes = 8e9, .weights = 4e9, .host_copy = 1e30};
  CHECK(sum_costs(task, network, 4).bytes_sent == Approx(0.75 * (16e9 + 4e9)));
  CHECK(sum_costs(task, network, 4).network_s == Approx(15));
  task.kind = SumKind::kRing;  // in place of sums
  CHECK(sum_costs(task, network, 4).bytes_sent == Approx(12e9));
}

TEST_CASE("sum costs: machines that are not full have equally many ranks", "[forecast]") {
  const Network nodes{.net = 1e9, .node_net = 1e12, .latency = 0, .ranks_per_node = 8};
  const double twelve =
      sum_costs({.kind = SumKind::kRing, .bytes = 6e9, .rounds = 1}, nodes, 12).network_s;
  CHECK(twelve == Approx(2 * 5.0 / 6 * 6e-3 + 2 * 0.5 * 1.0));
}

TEST_CASE("sum costs: ordered sums send what is forecast", "[forecast]") {
  const std::vector<std::int64_t> sizes{5, 130, 0, 4, 1, 61};  // 201 numbers, by no count divisible
  for (const int ranks : {2, 3, 5}) {
    for (const int rounds : {1, 3}) {
      const auto boxes = std::make_shared<test::Mailboxes>();
      test::run_ranks(
          ranks,
          [&](parallel::Ranks& of) {
            parallel::OrderedSum sum(of, sizes, make_cpu(1));
            parallel::OrderedSum::List list = sum.empty_list();
            list.has.assign(sizes.size(), true);
            for (int i = 0; i < rounds; ++i)
              sum.begin_round(&list, std::vector<bool>(static_cast<std::size_t>(ranks), true));
            sum.end_round();
            sum.finish();
          },
          boxes);
      const SumCosts costs = sum_costs({.bytes = 4 * 201, .rounds = rounds, .host_copy = 1},
                                       {.net = 1, .node_net = 1}, ranks);
      // In each round each says to each which parts it has.
      const double small = ranks * (ranks - 1) * rounds * static_cast<double>(sizes.size());
      INFO(ranks << " ranks, " << rounds << " rounds");
      CHECK(static_cast<double>(boxes->bytes) == Approx(ranks * costs.bytes_sent + small));
      CHECK(boxes->count == static_cast<std::size_t>(ranks * (ranks - 1) * (2 * rounds + 1)));
    }
  }
}
