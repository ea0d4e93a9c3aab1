#include "experiment/forecast/forecast.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "schema/json/parse.h"

using namespace fovea;
using experiment::ForecastSettings;
using experiment::RanksForecast;
using experiment::read_forecast_settings;
using experiment::StepCosts;

namespace {

// 8 samples in 30 ms, and 10 ms of update.
StepCosts costs() {
  StepCosts costs;
  costs.batch_size = 8;
  costs.forward_s = 0.010;
  costs.backward_s = 0.020;
  costs.update_s = 0.010;
  costs.host_copy = 1e30;
  costs.gradient_bytes = 100'000'000;
  costs.sent_bytes = 100e6;
  costs.optimiser_bytes = 200'000'000;
  costs.peak_bytes = 1'000'000'000;
  costs.sample_bytes = 1000;
  return costs;
}

RanksForecast last(const StepCosts& costs, const std::string& words) {
  return experiment::forecast(costs, read_forecast_settings(words)).back();
}

}  // namespace

TEST_CASE("forecast: one rank takes exactly its compute and update", "[forecast]") {
  for (const char* sum : {"ordered", "ring"}) {
    const RanksForecast one =
        last(costs(), std::string("ranks=1 net=1K latency=10s overlap=1 sum=") + sum);
    CHECK(one.step_s == 0.010 + 0.020 + 0.010);
    CHECK(one.efficiency == 1);
    CHECK(one.sum.bytes_sent == 0);
    CHECK(one.limit == "compute");
    CHECK(one.memory_bytes == 1e9);
    CHECK(one.host_bytes == 0);
  }
}

TEST_CASE("forecast: rows are 1, 2, 4, ... and what is asked for", "[forecast]") {
  const auto ranks_of = [](const std::string& words) {
    std::vector<std::int64_t> ranks;
    for (const auto& row : experiment::forecast(costs(), read_forecast_settings(words)))
      ranks.push_back(row.ranks);
    return ranks;
  };
  CHECK(ranks_of("gpus=1 net=1G") == std::vector<std::int64_t>{1});
  CHECK(ranks_of("gpus=2 net=1G") == std::vector<std::int64_t>{1, 2});
  CHECK(ranks_of("gpus=6 net=1G") == std::vector<std::int64_t>{1, 2, 4, 6});
  CHECK(ranks_of("gpus=1048576 net=1G").size() == 21);
}

TEST_CASE("forecast: a network without limits leaves an efficiency of one", "[forecast]") {
  for (const char* sum : {"ordered", "ring"}) {
    const RanksForecast row =
        last(costs(), std::string("ranks=64 net=1000T latency=0s sum=") + sum);
    CHECK(row.efficiency == Approx(1).epsilon(1e-3));
    CHECK(row.samples == 64 * 8);
    CHECK(row.micro_batches == 64);
  }
}

TEST_CASE("forecast: time by hand", "[forecast]") {
  // A ring of 4 sends 150 MB at 10 GB/s: 15 ms.
  const RanksForecast open = last(costs(), "ranks=4 net=10GB/s latency=0s sum=ring overlap=0");
  CHECK(open.step_s == Approx(0.040 + 0.015));
  CHECK(open.efficiency == Approx(40.0 / 55));
  CHECK(open.samples_per_s == Approx(32 / 0.055));
  // Behind a quarter of the backward pass, 5 ms are hidden; behind all of it, all of them.
  CHECK(last(costs(), "ranks=4 net=10GB/s latency=0s sum=ring overlap=0.25").step_s ==
        Approx(0.050));
  CHECK(last(costs(), "ranks=4 net=10GB/s latency=0s sum=ring overlap=1").step_s == Approx(0.040));
  // An ordered sum sends as much; copies of 4 x 100 MB at 40 GB/s come on top.
  StepCosts copied = costs();
  copied.host_copy = 40e9;
  CHECK(last(copied, "ranks=4 net=10GB/s latency=0s overlap=0").step_s ==
        Approx(0.040 + 0.015 + 0.010));
  // Messages hide, copies do not.
  CHECK(last(copied, "ranks=4 net=10GB/s latency=0s overlap=1").step_s == Approx(0.040 + 0.010));
}

TEST_CASE("forecast: every round of an ordered sum is sent, of a ring one", "[forecast]") {
  StepCosts three = costs();
  three.micro_batches = 3;
  const RanksForecast ordered = last(three, "ranks=2 net=10GB/s latency=0s overlap=0");
  CHECK(ordered.micro_batches == 6);
  CHECK(ordered.rounds == 3);
  CHECK(ordered.compute_s == Approx(0.090));
  CHECK(ordered.sum.bytes_sent == Approx(4 * 50e6));
  const RanksForecast ring = last(three, "ranks=2 net=10GB/s latency=0s sum=ring overlap=1");
  CHECK(ring.sum.bytes_sent == Approx(100e6));
  CHECK(ring.hidden_s == Approx(0.010));
  // One rank sums up its own micro-batches beside their gradients.
  CHECK(last(three, "ranks=1 net=1G").memory_bytes == Approx(1.1e9));
}

TEST_CASE("forecast: a fixed batch is shared out", "[forecast]") {
  // 12 micro-batches: 8 ranks make two rounds, some of them one batch only.
  const auto rows = experiment::forecast(
      costs(), read_forecast_settings("ranks=8 net=1000T latency=0s batch=96"));
  CHECK(rows.front().compute_s == Approx(12 * 0.030));
  CHECK(rows.back().rounds == 2);
  CHECK(rows.back().samples == 96);
  CHECK(rows.back().step_s == Approx(2 * 0.030 + 0.010).epsilon(1e-3));
  CHECK(rows.back().efficiency == Approx((12 * 0.030 + 0.010) / (8 * 0.070)).epsilon(1e-3));
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(last(costs(), "ranks=2 net=1G batch=100"),
                    Contains("--forecast batch=100: expected a multiple of train.batch_size, 8"));
  CHECK_THROWS_WITH(
      last(costs(), "ranks=16 net=1G batch=64"),
      Contains("8 batches of train.batch_size, 8") && Contains("--set train.batch_size=4"));
}

TEST_CASE("forecast: memory, ZeRO and cards", "[forecast]") {
  StepCosts card = costs();
  card.memory = 9e8;
  CHECK_FALSE(last(card, "ranks=4 net=1G").fits);
  const RanksForecast zero = last(card, "ranks=4 net=1G zero=1");
  CHECK(zero.memory_bytes == Approx(1e9 - 200e6 * 3 / 4));
  CHECK(zero.fits);
  CHECK(zero.update_s == Approx(0.0025));
  CHECK(last(costs(), "ranks=4 net=1G").host_bytes == Approx(3e8));
  CHECK(last(costs(), "ranks=4 net=1G sum=ring").host_bytes == 0);
}

TEST_CASE("forecast: settings of sums count", "[forecast]") {
  StepCosts three = costs();
  three.micro_batches = 3;
  three.own_first = true;  // one list a step, after the last backward pass
  const RanksForecast own = last(three, "ranks=2 net=10GB/s latency=0s overlap=1");
  CHECK(own.sum.bytes_sent == Approx(2 * 50e6));
  CHECK(own.hidden_s == 0);
  CHECK(own.step_s == Approx(0.090 + 0.010 + 0.010));
  StepCosts half = costs();
  half.sent_bytes = 50e6;
  CHECK(last(half, "ranks=2 net=1G").sum.bytes_sent == Approx(50e6));
  StepCosts shared = costs();
  shared.shared_update = true;
  shared.parameter_bytes = 120'000'000;
  const RanksForecast sharded = last(shared, "ranks=2 net=1G");
  CHECK(sharded.sum.bytes_sent == Approx(100e6 + 60e6));
  CHECK(sharded.update_s == Approx(0.005));
  CHECK(sharded.memory_bytes == Approx(1e9 - 100e6));
}

TEST_CASE("forecast: what limits is named", "[forecast]") {
  CHECK(last(costs(), "ranks=4 net=100M").limit == "network");
  CHECK(last(costs(), "ranks=4 net=100T").limit == "compute");
  StepCosts copied = costs();
  copied.host_copy = 1e8;
  CHECK(last(copied, "ranks=4 net=100T").limit == "copies");
  StepCosts updated = costs();
  updated.update_s = 1;
  CHECK(last(updated, "ranks=4 net=100T").limit == "update");
}

TEST_CASE("forecast: numbers of any size stay numbers", "[forecast]") {
  StepCosts huge = costs();
  huge.micro_batches = std::int64_t{1} << 40;
  huge.batch_size = std::int64_t{1} << 40;
  const RanksForecast row = last(huge, "ranks=1048576 net=1K latency=10s");
  CHECK(row.samples == Approx(std::pow(2.0, 100)));
  CHECK(row.efficiency > 0);
  CHECK(row.efficiency < 1);
  CHECK(experiment::to_text(huge, read_forecast_settings("ranks=4 net=1K"), {row}).size() < 3000);
  huge.micro_batches *= 2;
  CHECK_THROWS_AS(last(huge, "ranks=2 net=1G"), ConfigError);
}

TEST_CASE("forecast: a step is measured, or calculated for a card", "[forecast]") {
  const auto e = experiment::parse(experiment::resolve(schema::parse(
      R"({"name": "tiny", "dataset": {"type": "synthetic", "img_size": 16},
          "model": {"type": "vit", "patch_size": 4, "embed_dim": 32, "depth": 1,
                    "attention": {"num_heads": 2}},
          "train": {"batch_size": 4, "grad_accum_steps": 2, "threads": 1}})",
      "test.json")));
  const ForecastSettings here = read_forecast_settings("ranks=2 net=10G");
  const StepCosts measured = experiment::step_costs(e, here);
  CHECK(measured.batch_size == 4);
  CHECK(measured.micro_batches == 2);
  for (const double seconds : {measured.forward_s, measured.backward_s, measured.update_s})
    CHECK((seconds > 0 && seconds < 10));
  CHECK(measured.host_copy > 1e6);
  CHECK(measured.time_from.find("measured, median") == 0);
  CHECK(measured.on_host);
  // AdamW has two numbers for each; an image of 3 x 16 x 16 floats and its label.
  CHECK(measured.gradient_bytes > 0);
  CHECK(measured.optimiser_bytes >= 2 * measured.gradient_bytes);
  CHECK(measured.peak_bytes > measured.optimiser_bytes + 2 * measured.gradient_bytes);
  CHECK(measured.parameter_bytes >= measured.gradient_bytes);
  CHECK(measured.saved_bytes > 0);
  CHECK(measured.sample_bytes == 3 * 16 * 16 * 4 + 8);

  CHECK(measured.sent_bytes == static_cast<double>(measured.gradient_bytes));
  CHECK_FALSE(measured.own_first);

  const StepCosts h100 =
      experiment::step_costs(e, read_forecast_settings("ranks=2 net=10G card=h100"));
  CHECK(h100.peak_bytes == measured.peak_bytes);
  CHECK(h100.memory == 80e9);
  CHECK(h100.time_from.find("calculated, not measured: h100 with 67 TFLOP/s (float32)") == 0);
  CHECK(h100.forward_s > 0);
  CHECK(h100.backward_s > h100.forward_s / 2);
  const StepCosts faster =
      experiment::step_costs(e, read_forecast_settings("ranks=2 net=10G card=h100 speed=4x"));
  CHECK(faster.forward_s == Approx(h100.forward_s / 4));
  CHECK(faster.update_s == Approx(h100.update_s / 4));

  experiment::Experiment elsewhere = e;
  elsewhere.train.device = "cuda:99";
  CHECK_THROWS_WITH(experiment::step_costs(elsewhere, here), Catch::Contains("card=h100"));
  CHECK(experiment::step_costs(elsewhere, read_forecast_settings("ranks=2 net=10G card=h100"))
            .forward_s == h100.forward_s);

  const auto rows = experiment::forecast(measured, here);
  const schema::Value json = experiment::to_json(e, measured, here, rows);
  CHECK(json.at("measured").as_bool());
  CHECK(json.at("rows").size() == 2);
  CHECK(json.at("rows").at(1).at("ranks").as_int() == 2);
  CHECK(json.at("rows").at(1).at("grad_accum_steps").as_int() == 4);
  CHECK(json.at("card_bytes").is_null());
  const std::string text = experiment::to_text(measured, here, rows);
  const std::string run = "mpirun -n 2 fovea train EXPERIMENT.json --set train.grad_accum_steps=4";
  CHECK(text.find(run + "\n") != text.npos);
  ForecastSettings other = here;
  other.zero = true;
  CHECK(experiment::to_text(measured, other, rows)
            .find(run + " --set train.shard_optimizer=true\n") != text.npos);
  other.sum = experiment::SumKind::kRing;
  CHECK(experiment::to_text(measured, other, rows).find("mpirun") == text.npos);
  CHECK(text.find("measured, median") != text.npos);
}
