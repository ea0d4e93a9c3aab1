// What one patch scores: visualise-attention --scores; what the length of a query does: inspect
// magnitude.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string trained_vit(const TestFolder& folder, const std::string& attention, int num_heads = 2) {
  const std::string text = fmt::format(
      R"({{"seed": 3, "dataset": {{"type": "digits", "root": "{}/datasets/digits",
          "limit": {{"train": 64, "test": 20}}}},
          "model": {{"type": "vit", "patch_size": 2, "embed_dim": 16, "depth": 2,
                     "attention": {{"type": "{}", "num_heads": {}}}}},
          "train": {{"epochs": 1, "batch_size": 32}}}})",
      source_dir(), attention, num_heads);
  const std::string run = folder.path(attention).string();
  const CliResult result =
      run_cli("train", {folder.write(attention + ".json", text), "--out", run, "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

bool starts_as_png(const io::fs::path& file) { return io::read_text(file).substr(1, 3) == "PNG"; }

}  // namespace

TEST_CASE("visualise-attention --scores: runs side by side, layers, refusals", "[cli]") {
  const TestFolder folder("cli-scores");
  const std::string softmax = trained_vit(folder, "softmax"),
                    linear = trained_vit(folder, "linear");
  const std::string out = folder.path("pictures").string();
  const CliResult drawn =
      run_cli("visualise-attention", {softmax, linear, "--scores", "--input", "3", "--query", "0,7",
                                      "--layer", "1", "--layer", "mean", "--out", out});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains("scores.png") && Catch::Contains("scores.csv"));
  CHECK(starts_as_png(folder.path("pictures/scores.png")));
  // 4 x 4 patches, two layers, two runs; the rows of softmax sum to what the class token leaves.
  std::istringstream lines(io::read_text(folder.path("pictures/scores.csv")));
  std::string line;
  std::getline(lines, line);
  CHECK(line == "run,input,layer,row,column,score");
  double sum = 0;
  int count = 0;
  while (std::getline(lines, line)) {
    ++count;
    if (line.starts_with("softmax,") && line.find(",blocks.1,") != std::string::npos)
      sum += std::stod(line.substr(line.rfind(',') + 1));
  }
  CHECK(count == 2 * 2 * 16);
  CHECK((sum > 0.8 && sum < 1));
  CHECK(run_cli("visualise-attention",
                {softmax, "--scores", "--input", "3", "--normalise", "rowsum", "--out", out})
            .code == 0);
  const auto refused = [&](std::vector<std::string> words, const std::string& message) {
    words.insert(words.end(), {"--out", out});
    check_refusal(run_cli("visualise-attention", words), 2, message);
  };
  refused({softmax, "--scores", "--layer", "7"}, "--layer 7: softmax has no such layer");
  refused({softmax, "--scores", "--query", "8,0"}, "expected row and column of a pixel of 8 x 8");
  refused({softmax, "--scores", "--normalise", "abs"}, "minmax or rowsum");
  refused({softmax, "--scores", "--pca"}, "give one");
  refused(
      {softmax, "--layer", "1"},
      "--layer: is an option of --figure detections, --scores, --magnitude, --pca; softmax reads "
      "images");
  refused({softmax, "--query", "1,1"}, "softmax reads images, of which rollout is drawn");
}

TEST_CASE("visualise-attention --magnitude: what a trained layer scores", "[cli]") {
  const TestFolder folder("cli-magnitude-run");
  const std::string linear = trained_vit(folder, "linear", 1);
  const std::string out = folder.path("pictures").string();
  const std::vector<std::string> what = {"--input", "3", "--query", "0,7",
                                         "--layer", "0", "--out",   out};
  const auto draw = [&](const std::string& flag) {
    std::vector<std::string> words = {linear, flag};
    words.insert(words.end(), what.begin(), what.end());
    const CliResult drawn = run_cli("visualise-attention", words);
    INFO(drawn.err);
    REQUIRE(drawn.code == 0);
  };
  draw("--scores");
  draw("--magnitude");
  CHECK(starts_as_png(folder.path("pictures/magnitude.png")));
  // Of the one head the bars of linear attention are what the layer does: 16 patches and the class
  // token.
  std::vector<double> bars;
  std::istringstream magnitude(io::read_text(folder.path("pictures/magnitude.csv")));
  const std::string one = "\"linear, a φ(u)\",1,";
  for (std::string line; std::getline(magnitude, line);) {
    if (line.starts_with(one)) bars.push_back(std::stod(line.substr(line.rfind(',') + 1)));
  }
  REQUIRE(bars.size() == 17);
  std::istringstream scores(io::read_text(folder.path("pictures/scores.csv")));
  std::string line;
  std::getline(scores, line);
  while (std::getline(scores, line)) {
    const double score = std::stod(line.substr(line.rfind(',') + 1));
    CHECK(std::any_of(bars.begin(), bars.end(),
                      [&](double bar) { return std::abs(bar - score) < 1e-6; }));
  }
  check_refusal(run_cli("visualise-attention", {linear, "--magnitude", "--head", "1"}), 2,
                "has 1 heads");
  check_refusal(
      run_cli("visualise-attention", {linear, linear, "--magnitude"}), 2,
      "is drawn of one run, 2 are given; figures that fit all of them: rollout, scores, pca");
  check_refusal(run_cli("visualise-attention", {linear, "--head", "0"}), 2, "--magnitude");
}

TEST_CASE("inspect magnitude: needs no run", "[cli]") {
  const TestFolder folder("cli-magnitude");
  const std::string png = folder.path("a.png").string();
  const CliResult drawn = run_cli("inspect", {"magnitude", "--factors", "1,16", "--out", png});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains("softmax") && Catch::Contains("MALA") &&
                            Catch::Contains("entropy") && Catch::Contains("a.png"));
  CHECK(starts_as_png(png));
  CHECK(io::fs::exists(folder.path("a.csv")));
  check_refusal(run_cli("inspect", {"magnitude", "--out", "a.jpg"}), 2, ".svg");
  check_refusal(run_cli("inspect", {"tradeoff", "x", "--passes", "3"}), 2, "--throughput");
}
