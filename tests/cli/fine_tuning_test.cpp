// A run that begins with the weights of another, trains a part of them, and goes on for longer.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <map>

#include "backend/devices.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// A network with batch norms and one without.
std::string digits(const std::string& model) {
  return fmt::format(
      R"({{"name": "digits", "seed": 3, "model": {},
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 200, "test": 60}}}},
  "optimizer": {{"type": "adamw", "lr": 3e-3, "weight_decay": 0.1}}, "schedule": {{"type": "constant"}},
  "train": {{"epochs": 1, "batch_size": 32}}}})",
      model, source_dir());
}

const std::string kViT = R"({"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 2,
                             "attention": {"num_heads": 2}, "drop_rate": 0.1})";
const std::string kResNet = R"({"type": "resnet20", "in_chans": 1})";

json train(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--json", "--quiet"});
  const CliResult result = run_cli("train", all);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

std::map<std::string, std::vector<double>> last(const TestFolder& folder, const std::string& run,
                                                const std::string& file) {
  const io::fs::path checkpoints = folder.path(run + "/checkpoints");
  std::string step = io::read_text(checkpoints / "last");
  step.pop_back();
  std::map<std::string, std::vector<double>> values;
  for (const auto& [name, tensor] :
       read_safetensors(checkpoints / step / file, make_cpu(1)).tensors)
    values[name] = to_doubles(tensor);
  return values;
}

}  // namespace

TEST_CASE("train: a linear probe changes the head alone", "[cli]") {
  const bool resnet = GENERATE(false, true);
  const std::string head = resnet ? "fc." : "head.";
  const TestFolder folder("cli-probe");
  const std::string experiment = folder.write("digits.json", digits(resnet ? kResNet : kViT));
  train({experiment, "--out", folder.path("base").string()});
  const json summary = train({experiment, "--init", folder.path("base").string(), "--out",
                              folder.path("probe").string(), "--set", "train.epochs=2", "--set",
                              fmt::format("train.freeze=[\"*\", \"!{}*\"]", head)});
  const auto before = last(folder, "base", "model.safetensors");
  const auto after = last(folder, "probe", "model.safetensors");
  REQUIRE(before.size() == after.size());
  for (const auto& [name, values] : after) {
    INFO(name);  // running statistics too
    CHECK((values == before.at(name)) == !name.starts_with(head));
  }
  for (const auto& [name, values] : last(folder, "probe", "optimiser.safetensors"))
    CHECK((name.starts_with(head) || name.ends_with(".step")));
  CHECK(summary["epochs"] == 2);
  CHECK_THAT(io::read_text(folder.path("probe/log.txt")),
             Catch::Contains(fmt::format("note: train.freeze: {} of", resnet ? 2570 : 170)));
}

TEST_CASE("train: rates by layer and by name, and patterns that match nothing", "[cli]") {
  const TestFolder folder("cli-groups");
  const std::string experiment = folder.write("digits.json", digits(kViT));
  const auto refused = [&](const std::string& setting, const std::string& message) {
    check_refusal(run_cli("train", {experiment, "--out", folder.path("run").string(), "--quiet",
                                    "--set", setting}),
                  2, message);
  };
  refused(
      "train.freeze=[\"blcks.*\"]",
      "train.freeze: \"blcks.*\" matches none of the 32 parameters; did you mean \"blocks.*\"?");
  refused("optimizer.param_groups=[{\"params\": [\"haed.*\"], \"lr_scale\": 10}]",
          "optimizer.param_groups.0.params: \"haed.*\" matches none of the 32 parameters; did you "
          "mean \"head.*\"?");
  refused("optimizer.param_groups=[{\"params\": [\"head.*\"], \"lr\": 10}]", "lr_scale");
  refused("optimizer.layer_decay=1.5", "optimizer.layer_decay");
  // A scale of 0 keeps what weight decay would change.
  train({experiment, "--out", folder.path("run").string(), "--set", "optimizer.layer_decay=0.5",
         "--set", "optimizer.param_groups=[{\"params\": [\"blocks.0.*\"], \"lr_scale\": 0}]"});
  CHECK_THAT(io::read_text(folder.path("run/log.txt")),
             Catch::Contains("note: optimizer: learning rates are 0 (blocks.0.norm1.weight) to 1 "
                             "(head.bias) times that of the schedule\n"));
  const json first =
      train({experiment, "--out", folder.path("untrained").string(), "--set", "train.epochs=0"});
  CHECK(first["steps"] == 0);
  const auto before = last(folder, "untrained", "model.safetensors");
  for (const auto& [name, values] : last(folder, "run", "model.safetensors")) {
    INFO(name);
    CHECK((values == before.at(name)) == name.starts_with("blocks.0."));
  }
}

TEST_CASE("train: --extend goes on with a finished run", "[cli]") {
  const TestFolder folder("cli-extend");
  const std::string experiment = folder.write("digits.json", digits(kViT));
  const std::string run = folder.path("run").string();
  train({experiment, "--out", folder.path("long").string(), "--set", "train.epochs=3"});
  check_refusal(run_cli("train", {"--extend", "2", "--out", run}), 1, "config.json: not found");
  train({experiment, "--out", run});
  check_refusal(run_cli("train", {experiment, "--extend", "2", "--out", run}), 2,
                "--extend: the run in --out keeps its configuration; remove ");
  check_refusal(run_cli("train", {"--extend", "2", "--out", run, "--set", "seed=1"}), 2,
                "--set: a resumed run keeps its configuration");
  const json summary = train({"--extend", "2", "--out", run});
  CHECK(summary["epochs"] == 3);
  CHECK(last(folder, "run", "model.safetensors") == last(folder, "long", "model.safetensors"));
  CHECK(last(folder, "run", "optimiser.safetensors") ==
        last(folder, "long", "optimiser.safetensors"));
  CHECK(io::read_text(folder.path("run/config.json")) ==
        io::read_text(folder.path("long/config.json")));
  CHECK(io::read_text(folder.path("run/metrics.csv")) ==
        io::read_text(folder.path("long/metrics.csv")));
  // The run is what its configuration says: the file of the shorter one does not resume it.
  check_refusal(run_cli("train", {experiment, "--resume", "--out", run}), 2, "train.epochs");
}
