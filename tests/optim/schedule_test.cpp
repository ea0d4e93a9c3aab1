#include "optim/schedule.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "optim/rates.h"
#include "optim/registry.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "tests/support/paths.h"
#include "tests/support/tensors.h"

using namespace fovea;
using optim::RunLength;
using optim::Schedule;

namespace {

Schedule make(const std::string& json, const RunLength& run) {
  const schema::Value value = schema::parse(json, "test");
  return optim::make_schedule({value.at("type").as_string(), value}, run);
}

std::vector<double> fixture(const std::string& name, const std::string& tensor) {
  const auto file =
      read_safetensors(test::source_dir() + "/tests/fixtures/dgsa/" + name, test::cpu());
  return test::to_doubles(file.tensors.at(tensor));
}

}  // namespace

TEST_CASE("cosine: one rate an epoch, as the reference", "[optim][fixture]") {
  const auto expected = fixture("sched_cosine.safetensors", "output/lr_per_epoch");
  const Schedule cosine = make("{\"type\": \"cosine\"}", {3e-4, 100 * 7, 7});
  for (std::int64_t epoch = 0; epoch <= 100; ++epoch) {
    for (std::int64_t step : {epoch * 7, epoch * 7 + 6}) {
      CHECK(std::abs(cosine(step) - expected[static_cast<std::size_t>(epoch)]) <= 1e-15);
    }
  }
}

TEST_CASE("linear: warm-up and decay, as the reference", "[optim][fixture]") {
  const auto expected = fixture("sched_warmup_linear.safetensors", "output/lr_per_step");
  const Schedule linear = make("{\"type\": \"linear\", \"warmup_steps\": 1000}", {3e-4, 2400, 100});
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CHECK(std::abs(linear(static_cast<std::int64_t>(k)) - expected[k]) <=
          1e-15 + 1e-9 * expected[k]);
  }
  CHECK(linear(0) == 0);
  CHECK(linear(2400) == 0);
}

TEST_CASE("schedules: the recipes of the papers", "[optim]") {
  // gdla 6.1: per step, the cosine runs along under the warm-up, one step late.
  const Schedule gdla = make(
      R"({"type": "cosine", "unit": "step", "min_lr": 1e-6, "warmup_epochs": 2, "warmup_lr": 1e-6,
          "warmup_prefix": false, "lag": 1})",
      {5e-4, 1000, 10});
  const double pi = std::numbers::pi;
  CHECK(gdla(0) == 1e-6);
  CHECK(gdla(1) == 1e-6);
  CHECK(gdla(11) == Approx(1e-6 + 10 * (5e-4 - 1e-6) / 20));
  CHECK(gdla(21) == Approx(1e-6 + 0.5 * (5e-4 - 1e-6) * (1 + std::cos(pi * 20 / 1000))));
  // kcla 6: by epoch, drops counted from the start.
  const Schedule kcla = make(
      R"({"type": "multi_step", "milestones": [100, 150], "warmup_epochs": 10,
          "warmup_lr": 0.001, "warmup_unit": "epoch"})",
      {0.1, 180 * 4, 4});
  CHECK(kcla(3) == 0.001);
  CHECK(kcla(5 * 4 + 3) == Approx(0.001 + 0.099 * 0.5));
  CHECK(kcla(99 * 4 + 3) == Approx(0.1));
  CHECK(kcla(100 * 4) == Approx(0.01));
  CHECK(kcla(150 * 4) == Approx(0.001));
  // kcla on ImageNet: epoch 0 at 1e-4, epoch e at 0.1 e / 3.
  const Schedule imagenet = make(
      R"({"type": "multi_step", "milestones": [40], "warmup_epochs": 3, "warmup_floor": 1e-4})",
      {0.1, 100, 1});
  CHECK(imagenet(0) == 1e-4);
  CHECK(imagenet(2) == Approx(0.2 / 3));
  // kcla, medical: rises again after its period.
  const Schedule wave =
      make(R"({"type": "cosine", "period_epochs": 50, "min_lr": 1e-5})", {1e-3, 300, 1});
  CHECK(wave(25) == Approx(5.05e-4));
  CHECK(wave(50) == Approx(1e-5));
  CHECK(wave(100) == Approx(1e-3));
  // dformer 7.
  const Schedule poly = make(R"({"type": "polynomial"})", {0.01, 3000 * 250, 250});
  CHECK(poly(1500 * 250 + 249) == Approx(0.01 * std::pow(0.5, 0.9)));
}

TEST_CASE("schedules: the other shapes", "[optim]") {
  CHECK(make("{\"type\": \"constant\"}", {0.3, 10, 1})(7) == 0.3);
  const Schedule step =
      make(R"({"type": "step", "decay_epochs": 2, "decay_rate": 0.5})", {1, 10 * 3, 3});
  CHECK(step(5) == 1);
  CHECK(step(6) == 0.5);
  CHECK(step(12) == 0.25);
  const Schedule restarts =
      make(R"({"type": "cosine_restarts", "cycle_epochs": 2, "cycle_mult": 2, "cycle_decay": 0.5})",
           {1, 20, 1});
  CHECK(restarts(0) == 1);
  CHECK(restarts(1) == Approx(0.5));
  CHECK(restarts(2) == 0.5);
  CHECK(restarts(4) == Approx(0.25));
  CHECK(restarts(6) == 0.25);
  // Values of torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=10).
  const Schedule cycle = make(R"({"type": "one_cycle"})", {1, 10, 1});
  // A Transformer's: up for W steps, then lr sqrt(W / k) after k.
  const Schedule transformer =
      make(R"({"type": "inverse_sqrt", "warmup_steps": 10, "decay_steps": 10})", {2, 1000, 7});
  CHECK(transformer(5) == Approx(1));
  CHECK(transformer(10) == Approx(2));
  for (const std::int64_t k : {11, 40, 250})
    CHECK(transformer(k) == Approx(2 * std::sqrt(10.0 / static_cast<double>(k))));
  CHECK(cycle(0) == Approx(0.04));
  CHECK(cycle(2) == Approx(1.0));
  CHECK(cycle(9) == Approx(4e-6));
  CHECK(cycle(1) == Approx(0.52));
}

TEST_CASE("schedules: every one is finite, non-negative and starts after its warm-up", "[optim]") {
  const auto entries = optim::schedule_choices().list();
  CHECK(entries.size() >= 8);
  for (const schema::Choice& entry : entries) {
    INFO(entry.name);
    const std::string extra = entry.name == "multi_step" ? ", \"milestones\": [2]" : "";
    for (const std::int64_t steps : {0, 1, 7, 40}) {
      const Schedule schedule =
          make("{\"type\": \"" + entry.name + "\", \"warmup_epochs\": 1, \"warmup_lr\": 0.001" +
                   extra + "}",
               {0.1, steps, 5});
      CHECK(schedule(0) == 0.001);
      for (std::int64_t k = 0; k <= steps; ++k) {
        CHECK(std::isfinite(schedule(k)));
        CHECK(schedule(k) >= 0);
        CHECK(schedule(k) <= 0.1 + 1e-12);
      }
    }
  }
}

TEST_CASE("warm-up: counts steps whatever the unit of the schedule behind it", "[optim]") {
  // 4 epochs of 10 steps; the cosine changes by epochs.
  const RunLength run{0.1, 40, 10};
  const Schedule one = make(R"({"type": "cosine", "warmup_epochs": 1})", run);
  CHECK(one(0) == 0);
  for (std::int64_t k = 0; k < 10; ++k) CHECK(one(k) == Approx(0.01 * static_cast<double>(k)));
  CHECK(one(10) == 0.1);
  CHECK(one(19) == 0.1);
  CHECK(one(20) == Approx(0.075));
  const Schedule steps = make(R"({"type": "constant", "warmup_steps": 4, "warmup_lr": 0.02})", run);
  CHECK(steps(0) == 0.02);
  CHECK(steps(2) == Approx(0.06));
  CHECK(steps(4) == 0.1);
  // The schedule behind half an epoch of warm-up begins in its middle.
  const Schedule half = make(R"({"type": "cosine", "warmup_epochs": 0.5})", run);
  CHECK(half(4) == Approx(0.08));
  CHECK(half(5) == 0.1);
  CHECK(half(9) == 0.1);
  CHECK(half(10) < 0.1);
}

TEST_CASE("warm-up: by epochs as timm's CosineLRScheduler", "[optim]") {
  // timm 1.0.31: CosineLRScheduler(opt, t_initial=6, lr_min=1e-5, warmup_t=2, warmup_lr_init=1e-4,
  // warmup_prefix=False) of lr 0.1, stepped after each epoch.
  const double expected[] = {0.0001, 0.05005, 0.0750025, 0.050005, 0.0250075, 0.00670805994};
  const Schedule timm = make(
      R"({"type": "cosine", "warmup_epochs": 2, "warmup_unit": "epoch", "warmup_lr": 1e-4,
          "warmup_prefix": false, "min_lr": 1e-5})",
      {0.1, 6 * 5, 5});
  for (std::int64_t epoch = 0; epoch < 6; ++epoch) {
    CHECK(timm(epoch * 5) == Approx(expected[epoch]).epsilon(1e-8));
    CHECK(timm(epoch * 5 + 4) == timm(epoch * 5));
  }
}

TEST_CASE("rates of a run: what people are told before it", "[optim]") {
  const RunLength run{0.1, 40, 10};
  const Schedule warm = make(R"({"type": "cosine", "warmup_epochs": 2})", run);
  CHECK(optim::rates_text(warm, run) ==
        "epoch 1: 0 to 0.045, highest 0.1 in step 21 of 40 (epoch 3), last 0.05; 0 in 1 step");
  CHECK(optim::check_rates(warm, run) == "");
  const Schedule flat = make(R"({"type": "constant"})", run);
  CHECK(optim::rates_text(flat, run) ==
        "epoch 1: 0.1, highest 0.1 in step 1 of 40 (epoch 1), last 0.1");
  // By epochs from 0, the first one trains nothing; a run of that epoch alone is refused.
  const std::string by_epoch = R"({"type": "cosine", "warmup_epochs": 1, "warmup_unit": "epoch"})";
  CHECK_THAT(optim::check_rates(make(by_epoch, run), run),
             Catch::Contains("0 in the first epoch (10 steps)"));
  const RunLength short_run{0.1, 10, 10};
  CHECK_THROWS_WITH(optim::check_rates(make(by_epoch, short_run), short_run),
                    Catch::Contains("0 in all 10 steps"));
  const RunLength frozen{0, 10, 10};
  CHECK(optim::check_rates(make(by_epoch, frozen), frozen) == "");
}

TEST_CASE("schedules: wrong options are refused", "[optim]") {
  CHECK_THROWS_AS(make("{\"type\": \"multi_step\"}", {1, 1, 1}), ConfigError);
  CHECK_THROWS_WITH(
      make(R"({"type": "cosine", "warmup_steps": 3, "warmup_unit": "epoch"})", {1, 1, 1}),
      Catch::Contains("warmup_steps needs warmup_unit \"step\""));
  CHECK_THROWS_WITH(make("{\"type\": \"cosin\"}", {1, 1, 1}), Catch::Contains("\"cosine\""));
}
