// eval and visualise-attention without flags take the weights that the summary is about.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// The largest loss is the first one, so that the best weights are not the last ones.
const std::string kEarly = R"("monitor": "loss", "monitor_mode": "max")";

std::string digits(const std::string& train) {
  return fmt::format(
      R"({{"name": "digits", "seed": 3,
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "val_fraction": 0.25,
              "limit": {{"train": 200, "test": 60}}}},
  "model": {{"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1, "attention": {{"num_heads": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 3e-3}},
  "train": {{"epochs": 3, "batch_size": 32, {}}}}})",
      source_dir(), train);
}

std::string texts(const TestFolder& folder) {
  for (const auto& [file, rows] : {std::pair{"train.csv", 80}, std::pair{"test.csv", 21}}) {
    std::string table = "label,text\n";
    for (int i = 0; i < rows; ++i) {
      table += i % 2 == 0 ? "yes,good" : "no,bad";
      for (int k = 0; k <= i * 5 % 7; ++k) table += fmt::format(" w{}", (i * 3 + k * k) % 11);
      table += "\n";
    }
    folder.write(file, table);
  }
  return fmt::format(R"({{"name": "texts", "task": "text_classification",
  "dataset": {{"type": "text_csv", "root": "{}", "val_fraction": 0.2}},
  "model": {{"type": "transformer", "embed_dim": 16, "depth": 1, "attention": {{"num_heads": 2}},
             "ffn": {{"expansion": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 1e-2}},
  "train": {{"epochs": 3, "batch_size": 16, {}}}}})",
                     folder.path().string(), kEarly);
}

std::string discs(const TestFolder& folder) {
  for (const char* part : {"images", "masks", "splits"}) io::make_directories(folder.path(part));
  std::map<std::string, std::string> lists;
  for (int n = 0; n < 12; ++n) {
    data::Image image{16, 16, 1, {}}, mask{16, 16, 1, {}};
    for (int i = 0; i < 256; ++i) {
      const int dy = i / 16 - 4 - n % 8, dx = i % 16 - 6 - n % 5;
      mask.pixels.push_back(dy * dy + dx * dx < 16 ? 255 : 0);
      image.pixels.push_back(static_cast<std::uint8_t>(mask.pixels.back() / 2 + (i * 37) % 60));
    }
    const std::string name = fmt::format("disc{}", n);
    data::write_png(folder.path("images") / (name + ".png"), image);
    data::write_png(folder.path("masks") / (name + ".png"), mask);
    lists[n < 6 ? "train" : n < 9 ? "val" : "test"] += name + "\n";
  }
  for (const auto& [part, names] : lists) folder.write("splits/" + part + ".txt", names);
  return fmt::format(R"({{"name": "discs", "task": "segmentation", "seed": 1,
  "dataset": {{"type": "paired_folder", "root": "{}", "img_size": 16}},
  "model": {{"type": "unet", "widths": [4, 8], "decoder_channels": [4]}},
  "loss": {{"type": "bce_dice"}}, "optimizer": {{"type": "adamw", "lr": 0.01}},
  "train": {{"epochs": 3, "batch_size": 3, {}}}}})",
                     folder.path().string(), kEarly);
}

json trained(const TestFolder& folder, const std::string& experiment, const std::string& run) {
  const std::string file = folder.write("experiment.json", experiment);
  const CliResult result = run_cli("train", {file, "--out", folder.path(run).string(), "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

json scored(const TestFolder& folder, const std::string& run,
            const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {folder.path(run).string(), "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CliResult result = run_cli("eval", arguments);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("eval: without flags the summary's number, digit by digit, in every task", "[cli]") {
  const std::string task = GENERATE("images", "texts", "masks");
  const TestFolder folder("cli-chosen-" + task);
  const std::string experiment = task == "images"  ? digits(kEarly)
                                 : task == "texts" ? texts(folder)
                                                   : discs(folder);
  const json summary = trained(folder, experiment, "run");
  REQUIRE(summary["best"]["step"] < summary["steps"]);
  const json score = scored(folder, "run");
  CHECK(score["metrics"] == summary["metrics"]["test"]);
  CHECK(score["checkpoint"] == "best");
  CHECK(score["step"] == summary["best"]["step"]);
  CHECK(score["averaged"] == false);
  CHECK(score["random"].empty());
  CHECK(json::parse(io::read_text(folder.path("run/eval/test/results.json"))) == score);
  // Other weights have another number: the equality above is none by chance.
  const json last = scored(folder, "run", {"--checkpoint", "last"});
  CHECK(last["metrics"] != score["metrics"]);
  CHECK(last["step"] == summary["steps"]);
  const CliResult printed = run_cli("eval", {folder.path("run").string()});
  CHECK_THAT(printed.out, Catch::Contains(fmt::format("of test, checkpoint best, step {})",
                                                      summary["best"]["step"].get<int>())));
}

TEST_CASE("eval: last weights where those were scored, and where there is no summary", "[cli]") {
  const TestFolder folder("cli-chosen-last");
  const json summary = trained(folder, digits(kEarly + R"(, "select": "last")"), "run");
  const json score = scored(folder, "run");
  CHECK(score["checkpoint"] == "last");
  CHECK(score["metrics"] == summary["metrics"]["test"]);
  // A summary that names its weights is believed.
  json said = summary;
  said["weights"] = "best";
  folder.write("run/summary.json", said.dump());
  CHECK(scored(folder, "run")["checkpoint"] == "best");
  io::remove_all(folder.path("run/summary.json"));
  const json unfinished = scored(folder, "run");
  CHECK(unfinished["checkpoint"] == "last");
  CHECK(unfinished["note"] == "the run has no summary.json yet");
  const CliResult printed = run_cli("eval", {folder.path("run").string()});
  CHECK_THAT(printed.out, Catch::Contains("checkpoint last, step 21; the run has no summary.json"));
}

TEST_CASE("eval: averaged weights where training chose by them", "[cli]") {
  const TestFolder folder("cli-chosen-ema");
  const json summary = trained(
      folder, digits(R"("ema_decay": 0.8, "monitor": "ema_loss", "monitor_mode": "max")"), "run");
  const json& test = summary["metrics"]["test"];
  REQUIRE(test["loss"] != test["ema_loss"]);
  const json score = scored(folder, "run");
  CHECK(score["averaged"] == true);
  CHECK(score["metrics"]["loss"] == test["ema_loss"]);
  CHECK(score["metrics"]["top1"] == test["ema_top1"]);
  const json others = scored(folder, "run", {"--no-ema"});
  CHECK(others["metrics"]["loss"] == test["loss"]);
  CHECK(others["checkpoint"] == "best");
  const CliResult drawn =
      run_cli("visualise-attention", {folder.path("run").string(), "--no-explorer", "--input", "1",
                                      "--out", folder.path("maps").string()});
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains(fmt::format("checkpoint best, step {}, averaged weights",
                                                    summary["best"]["step"].get<int>())));
}
