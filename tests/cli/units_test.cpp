// Attention inside units: inspect units; rollouts of Swin and MAViT.
#include <fmt/format.h>

#include "base/file.h"
#include "tests/cli/pictures.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string trained_smoke(const TestFolder& folder, const std::string& name) {
  const std::string run = folder.path(name).string();
  const CliResult result = run_cli(
      "train", {source_dir() + "/experiments/smoke/" + name + ".json", "--set", "train.epochs=1",
                "--set", "dataset.limit.train=64", "--set", "dataset.limit.test=20", "--set",
                "dataset.root=" + source_dir() + "/datasets/digits", "--out", run, "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

}  // namespace

TEST_CASE("inspect units: needs no run", "[cli]") {
  const TestFolder folder("cli-units");
  const std::string png = folder.path("a.png").string();
  const CliResult drawn =
      run_cli("inspect", {"units", "--grid", "6,6,6", "--schemes", "local,global", "--out", png});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out,
             Catch::Contains("local") && Catch::Contains("3 x 3 x 3") && Catch::Contains("a.png"));
  CHECK(is_png_file(png));
  const auto refused = [&](std::vector<std::string> words, const std::string& message) {
    words.insert(words.begin(), "units");
    words.insert(words.end(), {"--out", png});
    check_refusal(run_cli("inspect", words), 2, message);
  };
  refused({"--grid", "6,6"}, "expected depth, height and width");
  refused({"--grid", "900,6,6"}, "too large to draw");
  refused({"--token", "6,0,0"}, "lies outside --grid 6,6,6");
  refused({"--schemes", "locl"}, "local, global or shifted");
}

TEST_CASE("visualise-attention: rollouts and heads of windows and of stages", "[cli]") {
  const TestFolder folder("cli-unit-rollout");
  const std::string swin = trained_smoke(folder, "swin"), mavit = trained_smoke(folder, "mavit");
  const CliResult drawn =
      run_cli("visualise-attention", {swin, mavit, "--input", "3", "--query", "0,7", "--heads",
                                      "--out", folder.path("pictures").string()});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  for (const char* file : {"rollout-swin.png", "rollout-mavit.png"}) {
    CHECK(is_png_file(folder.path("pictures") / file));
    CHECK_THAT(drawn.out, Catch::Contains(file));
  }
  CHECK_THAT(drawn.out, Catch::Contains("heads-swin-"));
  // Both stages, and all of them joined.
  const std::string csv = io::read_text(folder.path("pictures/weights.csv"));
  for (const char* chain : {"layers.0.blocks.0,layers.0.blocks.1,", "layers.1.blocks.0,layers.1.",
                            "layers.0.blocks.0,layers.1.blocks.1,"})
    CHECK_THAT(csv, Catch::Contains(chain));
}
