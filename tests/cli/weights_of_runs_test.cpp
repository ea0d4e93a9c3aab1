// What the programs say about the weights of a run: what chose them, whose classes they know, and
// that copies of a run go on. On the digits that ship with the project.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <array>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// A run of a second or two.
std::string tiny() {
  return fmt::format(
      R"({{"name": "tiny", "seed": 3,
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 160, "test": 60}}}},
  "model": {{"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1, "attention": {{"num_heads": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 3e-3}},
  "train": {{"epochs": 2, "batch_size": 32}}}})",
      test::source_dir());
}

// One line on stderr, nothing on stdout, the given exit code.
std::string weights_of(const std::filesystem::path& run) {
  return io::read_text(checkpoint_of(run) / "model.safetensors");
}

}  // namespace

TEST_CASE("train: what is selected on is said, and nothing is selected on test unasked", "[cli]") {
  const TestFolder folder("cli-selection");
  const std::string experiment = folder.write("tiny.json", tiny());
  const auto train = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(),
                {experiment, "--out", folder.path(name).string(), "--set", "train.epochs=3"});
    return run_cli("train", more);
  };
  for (const char* setting : {"train.select=best", "train.patience=2", "train.monitor=loss"}) {
    check_refusal(train("refused", {"--set", setting}), 2,
                  std::string(setting) + ": the data set has no validation part");
    check_refusal(train("refused", {"--set", setting, "--dry-run"}), 2, "train.select_on=test");
  }
  CHECK_FALSE(io::fs::exists(folder.path("refused")));

  const CliResult plain = train("plain", {});
  REQUIRE(plain.code == 0);
  CHECK_THAT(plain.out,
             Catch::Contains("last weights, of step 15 (epoch 3); nothing was selected"));
  CHECK_FALSE(io::fs::exists(folder.path("plain/checkpoints/best")));

  const CliResult best =
      train("best", {"--set", "train.select=best", "--set", "train.select_on=test"});
  REQUIRE(best.code == 0);
  CHECK_THAT(best.out, Catch::Contains("best weights, of step ") &&
                           Catch::Contains(" by test top1 ") &&
                           Catch::Contains("; selected on test"));
  CHECK_THAT(best.err, Catch::Contains("; selected on test"));
  CHECK_THAT(io::read_text(folder.path("best/log.txt")), Catch::Contains("; selected on test"));
  const json summary = json::parse(io::read_text(folder.path("best/summary.json")));
  CHECK(summary["selected_on"] == "test");
  CHECK(summary["weights"] == "best");
  CHECK(summary["best"]["value"] == summary["metrics"]["test"]["top1"]);
  const CliResult scored =
      run_cli("eval", {folder.path("best").string(), "--checkpoint", "best", "--json"});
  REQUIRE(scored.code == 0);
  CHECK(json::parse(scored.out)["metrics"]["top1"] == summary["metrics"]["test"]["top1"]);

  // The experiment that selects can be learnt by heart; then nothing is selected.
  const CliResult fit = train(
      "fit", {"--set", "train.select=best", "--set", "train.select_on=test", "--overfit", "8"});
  REQUIRE(fit.code == 0);
  CHECK_THAT(fit.out, Catch::Contains("train") && !Catch::Contains("\ntest ") &&
                          Catch::Contains("nothing was selected"));
  check_refusal(run_cli("train", {"--resume", "--out", folder.path("fit").string(), "--quiet"}), 2,
                "it began with --overfit");
}

TEST_CASE("train --init: a run, a checkpoint of it and a file in that", "[cli]") {
  const TestFolder folder("cli-init");
  const std::string experiment = folder.write("tiny.json", tiny());
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  for (const char* tail : {"", "/checkpoints/last", "/checkpoints/last/model.safetensors"}) {
    const std::string out = folder.path("from").string();
    // No step: the first checkpoint holds the weights that the run began with.
    const CliResult result = run_cli("train", {experiment, "--out", out, "--init", run + tail,
                                               "--set", "train.epochs=0", "--quiet"});
    INFO(tail << " " << result.err);
    REQUIRE(result.code == 0);
    CHECK(weights_of(out) == weights_of(run));
    io::remove_all(out);
  }
}

TEST_CASE("train --resume and ablate: copies without links go on, or are refused", "[cli]") {
  const TestFolder folder("cli-copies");
  const std::string experiment = folder.write("tiny.json", tiny());
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  const std::string metrics = io::read_text(folder.path("run/metrics.jsonl"));
  const std::string weights = weights_of(run);
  io::remove_all(folder.path("run/checkpoints/last"));
  REQUIRE(run_cli("eval", {run, "--no-noise"}).code == 0);
  const CliResult again = run_cli("train", {"--resume", "--out", run});
  REQUIRE(again.code == 0);
  CHECK_THAT(again.err, Catch::Contains("the newest complete checkpoint"));
  CHECK(weights_of(run) == weights);
  CHECK(io::read_text(folder.path("run/metrics.jsonl")) == metrics);
  io::remove_all(folder.path("run/checkpoints"));
  check_refusal(run_cli("train", {"--resume", "--out", run, "--quiet"}), 1,
                "there is no checkpoint");
  CHECK(io::read_text(folder.path("run/metrics.jsonl")) == metrics);
}

TEST_CASE("eval and train --resume: renamed class folders are refused", "[cli]") {
  const TestFolder folder("cli-classes");
  for (const char* part : {"train", "test"}) {
    for (const int c : {0, 1, 2}) {
      const auto root = folder.path("images") / part / std::array{"bird", "cat", "dog"}[c];
      io::make_directories(root);
      for (int n = 0; n < 3; ++n) {
        const auto grey = static_cast<std::uint8_t>(80 * c + n);
        data::write_png(root / fmt::format("{}.png", n),
                        {8, 8, 3, std::vector<std::uint8_t>(8 * 8 * 3, grey)});
      }
    }
  }
  const std::string file = folder.write("images.json", fmt::format(R"({{"name": "images",
    "dataset": {{"type": "image_folder", "root": "{}"}},
    "model": {{"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1, "attention": {{"num_heads": 2}}}},
    "train": {{"epochs": 1, "batch_size": 4}}}})",
                                                                   folder.path("images").string()));
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {file, "--out", run, "--quiet"}).code == 0);
  const CliResult before = run_cli("eval", {run, "--json"});
  REQUIRE(before.code == 0);
  // The same classes elsewhere are the same classes.
  io::fs::copy(folder.path("images"), folder.path("copy"), io::fs::copy_options::recursive);
  const CliResult moved =
      run_cli("eval", {run, "--json", "--set", "dataset.root=" + folder.path("copy").string()});
  REQUIRE(moved.code == 0);
  CHECK(json::parse(moved.out)["metrics"] == json::parse(before.out)["metrics"]);

  for (const char* part : {"train", "test"})
    io::fs::rename(folder.path("images") / part / "cat", folder.path("images") / part / "zcat");
  const std::string message = "classes.json: does not fit the data set: class 1 is \"cat\"";
  check_refusal(run_cli("train", {"--resume", "--out", run, "--quiet"}), 1, message);
  // The weights know the classes, so train is not asked.
  const std::string unknown = "test/zcat: none of the classes trained on has this name";
  check_refusal(run_cli("eval", {run}), 1, unknown);
  check_refusal(run_cli("visualise-attention", {run, "--input", "0"}), 1, unknown);
}
