// Classes of which some are rare: sampler, losses, scores and their tables, through the programs.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/cli/lines.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::vector<std::string> small(const std::string& out, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {source_dir() + "/experiments/smoke/balanced.json",
                                    "--out",
                                    out,
                                    "--quiet",
                                    "--set",
                                    "train.epochs=2",
                                    "--set",
                                    "dataset.limit.train=150",
                                    "--set",
                                    "dataset.limit.test=40",
                                    "--set",
                                    "dataset.root=" + source_dir() + "/datasets/digits"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

json read(const io::fs::path& file) { return json::parse(io::read_text(file)); }

}  // namespace

TEST_CASE("class scores: they choose weights, are scored again, and fill tables", "[cli]") {
  const TestFolder folder("cli-class-scores");
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", small(run));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json summary = read(folder.path("run/summary.json"));
  CHECK(summary["best"]["metric"] == "balanced_accuracy");
  const CliResult scored = run_cli("eval", {run, "--no-noise"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  const json metrics = read(folder.path("run/eval/test/results.json"))["metrics"];
  for (const char* name : {"balanced_accuracy", "macro_f1", "auroc", "average_precision", "ece"}) {
    INFO(name);
    CHECK(metrics[name] == summary["metrics"]["test"][name]);
    CHECK(metrics[name].get<double>() > 0);
  }
  // Ten classes of four samples each.
  CHECK(metrics["balanced_accuracy"].get<double>() == Approx(metrics["top1"].get<double>()));
  CHECK(lines_of(folder.path("run/eval/test/reliability.csv")).size() == 1 + 15);
  CHECK(io::read_text(folder.path("run/eval/test/reliability.png")).substr(1, 3) == "PNG");

  for (const char* file : {"vit.json", "balanced.json"})
    folder.write(file, io::read_text(source_dir() + "/experiments/smoke/" + file));
  const std::string sweep =
      folder.write("sweep.json", R"({"name": "rare", "base": "balanced.json", "seeds": [0],
          "set": {"train.epochs": 1, "dataset.limit.train": 50, "dataset.limit.test": 40,
                  "dataset.root": ")" +
                                     source_dir() + R"(/datasets/digits"},
          "rows": [{"name": "sampler"},
                   {"name": "weights", "set": {"train.sampler": "shuffle",
                                               "loss.balanced": true}}],
          "metrics": ["test_macro_f1", "test_mcc"]})");
  const CliResult table = run_cli("ablate", {sweep, "--out", folder.path("sweep").string()});
  INFO(table.err);
  REQUIRE(table.code == 0);
  CHECK_THAT(table.out, Catch::Contains("test_macro_f1") && Catch::Contains("test_mcc"));
  for (const json& row : read(folder.path("sweep/results.json")))
    CHECK(row["metrics"]["test_macro_f1"]["n"] == 1);
}

TEST_CASE("class scores: what does not fit is refused before anything runs", "[cli]") {
  const TestFolder folder("cli-class-scores-refused");
  const std::string run = folder.path("run").string();
  check_refusal(run_cli("train", small(run, {"--set", "eval.metrics=[\"aurok\"]"})), 2, "auroc");
  check_refusal(run_cli("train", small(run, {"--set", "eval.metrics=[\"hd95\"]"})), 2,
                "eval.metrics: no metric of classifications called \"hd95\"");
  check_refusal(run_cli("train", small(run, {"--set", "eval.metrics=[]"})), 2,
                "(known: loss, top1, top5; name it in eval.metrics too)");
  check_refusal(run_cli("train", small(run, {"--set", "train.sampler=balance"})), 2,
                "did you mean \"balanced\"");
}
