// inspect attention: diagnostics of runs by layer and head.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <sstream>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string digits_run(const TestFolder& folder, const std::string& name,
                       const std::string& model) {
  const std::string run = folder.path(name).string();
  const std::string file = folder.write(name + ".json", fmt::format(R"({{"name": "{}", "seed": 3,
      "dataset": {{"type": "digits", "root": "{}/datasets/digits",
                   "limit": {{"train": 64, "test": 20}}}},
      "model": {}, "train": {{"epochs": 1, "batch_size": 32}}}})",
                                                                    name, source_dir(), model));
  const CliResult result = run_cli("train", {file, "--out", run, "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

std::string vit_run(const TestFolder& folder, const std::string& attention) {
  return digits_run(folder, attention,
                    fmt::format(R"({{"type": "vit", "patch_size": 2, "embed_dim": 16, "depth": 2,
                                     "attention": {{"type": "{}", "num_heads": 2}}}})",
                                attention));
}

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) found.push_back(line);
  }
  return found;
}

}  // namespace

TEST_CASE("inspect attention: runs side by side, files, refusals", "[cli]") {
  const TestFolder folder("cli-inspect-attention");
  const std::string softmax = vit_run(folder, "softmax"), signs = vit_run(folder, "m_dgsa");
  const std::string out = folder.path("attention").string();
  const auto inspect = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "attention");
    words.insert(words.end(), {"--limit", "7", "--out", out});
    return run_cli("inspect", words);
  };
  const CliResult all = inspect({softmax, signs});
  INFO(all.err);
  REQUIRE(all.code == 0);
  CHECK_THAT(all.out, Catch::Contains("attention_entropy (nats)") && Catch::Contains("± ") &&
                          Catch::Contains("7 of 20 samples of test"));
  CHECK(io::read_text(folder.path("attention/attention.png")).substr(1, 3) == "PNG");
  const std::string csv = io::read_text(folder.path("attention/attention.csv"));
  CHECK(csv.starts_with("run,layer,module,head,metric,unit,mean,low,high,n\n"));
  // Two layers of two heads and their means, and the mean over all; of tokens the means alone.
  CHECK(lines_with(csv, ",attention_entropy,").size() == 2 * (2 * 3 + 1));
  CHECK(lines_with(csv, ",token_similarity,").size() == 2 * 3);
  // Of softmax nothing is negative, and no map is a difference.
  CHECK(lines_with(csv, "softmax,mean,,mean,negative_mass,%,0,0,0,7").size() == 1);
  CHECK(lines_with(csv, ",map_cancelled,").size() == 2 * 3 + 1);

  const CliResult json = inspect({signs, "--metric", "negative_mass,map_cancelled", "--json"});
  INFO(json.err);
  REQUIRE(json.code == 0);
  const auto record = nlohmann::json::parse(json.out);
  CHECK(record["samples"] == 7);
  const auto& metrics = record["runs"][0]["metrics"];
  CHECK(metrics.size() == 2);
  CHECK(metrics["negative_mass"]["layers"][1]["module"] == "blocks.1.attn");
  CHECK(metrics["negative_mass"]["layers"][1]["heads"].size() == 2);
  CHECK(metrics["negative_mass"]["mean"]["low"] < metrics["negative_mass"]["mean"]["mean"]);
  CHECK(record == nlohmann::json::parse(io::read_text(folder.path("attention/attention.json"))));

  check_refusal(inspect({softmax, "--metric", "sink_rat"}), 2, "did you mean \"sink_rate\"?");
  check_refusal(inspect({signs, softmax, "--metric", "map_cancelled"}), 2,
                "softmax: map_cancelled needs attention maps that are the difference of two, and "
                "the network has none");
  check_refusal(inspect({folder.path("none").string()}), 1, "none");
}

TEST_CASE("inspect attention: windows have no first token, and say so", "[cli]") {
  const TestFolder folder("cli-inspect-attention-windows");
  const std::string run =
      digits_run(folder, "swin", R"({"type": "swin_t", "patch_size": 1, "embed_dim": 8,
          "depths": [2, 2], "num_heads": [1, 2], "window_size": 4})");
  const std::string out = folder.path("attention").string();
  const CliResult made = run_cli("inspect", {"attention", run, "--limit", "3", "--out", out});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.err, Catch::Contains("note: left out: sink_rate needs attention of all tokens to "
                                       "all tokens, and the network has none"));
  CHECK_THAT(made.out, Catch::Contains("sink_any (%)") && !Catch::Contains("sink_rate"));
}
