// visualise-attention: figures by name.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <map>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string tiny_vit(const TestFolder& folder) {
  const std::string text = fmt::format(
      R"({{"seed": 3, "dataset": {{"type": "digits", "root": "{}/datasets/digits",
          "limit": {{"train": 64, "test": 20}}}},
          "model": {{"type": "vit", "patch_size": 2, "embed_dim": 16, "depth": 2,
                     "attention": {{"type": "linear", "num_heads": 2}}}},
          "train": {{"epochs": 1, "batch_size": 32}}}})",
      source_dir());
  const std::string run = folder.path("vit").string();
  const CliResult trained =
      run_cli("train", {folder.write("vit.json", text), "--out", run, "--quiet"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  return run;
}

// By name, what is in the files of a folder.
std::map<std::string, std::string> contents_of(const io::fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : io::fs::directory_iterator(folder))
    contents[entry.path().filename().string()] = io::read_text(entry.path());
  return contents;
}

}  // namespace

TEST_CASE("visualise-attention --figure: is what flags are, byte by byte", "[cli]") {
  const TestFolder folder("cli-figures");
  const std::string run = tiny_vit(folder);
  const auto drawn = [&](std::vector<std::string> words, const std::string& to) {
    words.insert(words.begin(), run);
    words.insert(words.end(), {"--input", "3", "--out", folder.path(to).string()});
    const CliResult result = run_cli("visualise-attention", words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return contents_of(folder.path(to));
  };
  for (const std::string figure : {"scores", "magnitude", "pca"}) {
    INFO(figure);
    const auto by_flag = drawn({"--" + figure, "--layer", "1"}, figure + "-flag");
    CHECK(by_flag.size() == 2);
    CHECK((by_flag == drawn({"--figure", figure, "--layer", "1"}, figure + "-name")));
  }
  CHECK((drawn({"--smooth"}, "standard") == drawn({"--figure", "rollout", "--smooth"}, "rollout")));
}

TEST_CASE("visualise-attention --figure: what does not fit, in one line", "[cli]") {
  const TestFolder folder("cli-figures-refused");
  const std::string run = tiny_vit(folder), out = folder.path("none").string();
  const auto refused = [&](std::vector<std::string> words, const std::string& message) {
    words.insert(words.end(), {"--out", out});
    check_refusal(run_cli("visualise-attention", words), 2, message);
    CHECK_FALSE(io::fs::exists(out));
  };
  refused({run, "--figure", "score"}, "no figure called \"score\"; did you mean \"scores\"?");
  refused({run, "--figure", "slices"},
          "--figure slices: vit reads images; expected segmentation of volumes; figures that fit "
          "it: rollout, scores, magnitude, pca");
  refused({run, run, "--figure", "magnitude"}, "is drawn of one run, 2 are given");
  refused({run, "--figure", "across_depth"},
          "figures that fit it: rollout, scores, magnitude, pca");
  refused({run, "--figure", "rollout", "--scores"}, "give one");
  refused({run, "--figure", "rollout", "--start-layer", "1.5"}, "expected integer >= 0, got 1.5");
}

TEST_CASE("figures: help, listing and completion have them all", "[cli]") {
  const CliResult help = run_cli("visualise-attention", {"--help"});
  const CliResult list = run_cli("inspect", {"--list", "figure"});
  REQUIRE(list.code == 0);
  for (const char* figure :
       {"rollout", "text_rollout", "detections", "grid_rollout", "slices", "speech", "next_token",
        "denoising", "scores", "magnitude", "pca", "across_depth", "maps", "predictions"}) {
    CHECK_THAT(help.out, Catch::Contains(fmt::format("\n  {:<14}", figure)));
    CHECK_THAT(list.out, Catch::Contains(figure));
  }
  const CliResult keys = run_cli("inspect", {"--list", "figure", "scores"});
  CHECK_THAT(keys.out, Catch::Contains("what the patch at --query scores") &&
                           Catch::Contains("normalise") && Catch::Contains("layer"));
}
