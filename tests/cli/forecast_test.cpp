// inspect --forecast, and what bench --network says to a single process.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "tests/cli/refusal.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::string forecast_experiment(const TestFolder& folder) {
  return folder.write("tiny.json", R"({"name": "tiny",
  "dataset": {"type": "synthetic", "img_size": 16, "num_classes": 3},
  "model": {"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1,
            "attention": {"num_heads": 2}},
  "train": {"batch_size": 4, "grad_accum_steps": 2, "threads": 1}})");
}

CliResult forecast(const std::string& experiment, const std::string& words,
                   std::vector<std::string> more = {}) {
  more.insert(more.begin(), {experiment, "--forecast", words});
  return run_cli("inspect", more);
}

}  // namespace

TEST_CASE("forecast: a table that says what it rests on", "[cli]") {
  const TestFolder folder("forecast");
  const CliResult result = forecast(forecast_experiment(folder), "gpus=64 net=400G");
  INFO(result.err);
  REQUIRE(result.code == 0);
  for (const char* part : {"ranks", "efficiency", "\n64 ", " 512 ", "measured, median of",
                           "400 Gbit/s a rank", "behind 50 % of the backward pass",
                           "mpirun -n 64 fovea train EXPERIMENT.json --set "
                           "train.grad_accum_steps=128"}) {
    INFO(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
}

TEST_CASE("forecast: JSON alone on stdout", "[cli]") {
  const TestFolder folder("forecast");
  const CliResult result = forecast(
      forecast_experiment(folder), "gpus=8 net=100G card=a100 sum=ring overlap=1 zero=1",
      {"--json", "--set", "train.precision=bfloat16", "--set", "train.gradient_type=bfloat16"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json object = json::parse(result.out);
  CHECK(object["measured"] == false);
  CHECK(object["card_bytes"] == 80e9);
  CHECK(object["sent_type"] == "bfloat16");
  CHECK(object["rows"].size() == 4);
  CHECK(object["rows"][0]["efficiency"] == 1.0);
  CHECK(object["rows"][3]["samples_per_step"] == 64.0);
  CHECK(object["rows"][3]["fits"] == true);
  CHECK(object["time_from"].get<std::string>().find("312 TFLOP/s (bfloat16)") != std::string::npos);
}

TEST_CASE("forecast: what does not fit the card is said", "[cli]") {
  const TestFolder folder("forecast");
  const CliResult large =
      forecast(forecast_experiment(folder), "gpus=2 net=1G card=a100 memory=1MB",
               {"--set", "train.batch_size=64"});
  INFO(large.err);
  REQUIRE(large.code == 0);
  CHECK(large.out.find("does not fit: a rank needs ") != std::string::npos);
}

TEST_CASE("forecast: refusals are one line, before anything is measured", "[cli]") {
  const TestFolder folder("forecast");
  const std::string experiment = forecast_experiment(folder);
  const auto refused = [&](const std::string& words, const std::string& message) {
    INFO(words);
    check_refusal(forecast(experiment, words), 2, message);
  };
  refused("gpus=64", "inspect: --forecast: no net, expected at least 'gpus=64 net=400G'");
  refused("gpus=64 net=400G latancy=5us", "did you mean \"latency\"?");
  refused("gpus=64 net=fast", "--forecast net=fast: ");
  refused(" ", "no ranks or gpus");
  refused("", "no ranks or gpus");
  refused("gpus=64 net=400G batch=64", "16 batches of train.batch_size, 4");
  check_refusal(forecast(experiment, "gpus=2 net=1G", {"--profile"}), 2, "--profile");
  check_refusal(forecast(folder.path("missing.json").string(), "gpus=2 net=1G"), 1, "missing.json");
  check_refusal(forecast(experiment, "gpus=2 net=1G", {"--across-depth", "2"}), 2, "exclude");
  check_refusal(run_cli("inspect", {"--forecast", "gpus=2 net=1G"}), 2, "no experiment file");
  check_refusal(run_cli("bench", {"--network"}), 2, "mpirun -n 2");
  check_refusal(run_cli("bench", {experiment, "--network"}), 2, "takes no experiment file");
  check_refusal(run_cli("bench", {}), 2, "no experiment file");
}
