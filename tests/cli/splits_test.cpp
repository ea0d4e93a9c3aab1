// Parts of a user's own data, from the folders to the numbers, with the real programs.
#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using json = nlohmann::json;

namespace {

// Bright and dark pictures of 8 x 8 in plain class folders.
void write_pictures(const TestFolder& folder, const std::string& root) {
  for (int i = 0; i < 40; ++i) {
    const bool bright = i % 2 == 0;
    std::string picture = "P6\n8 8\n255\n";
    for (int k = 0; k < 8 * 8 * 3; ++k)
      picture += static_cast<char>((bright ? 160 : 20) + (i * 7 + k * 5) % 60);
    const auto path = folder.path(root) / (bright ? "bright" : "dark");
    io::make_directories(path);
    io::write_atomic(path / fmt::format("{}.ppm", i), picture);
  }
}

std::string experiment(const TestFolder& folder, const std::string& split) {
  return folder.write("own.json", fmt::format(R"({{"name": "own",
  "dataset": {{"type": "image_folder", "root": "{}", "split": {}}},
  "model": {{"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
             "attention": {{"num_heads": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 3e-3}},
  "train": {{"epochs": 3, "batch_size": 8}}}})",
                                              folder.path("pictures").string(), split));
}

json read(const std::filesystem::path& file) { return json::parse(io::read_text(file)); }

}  // namespace

TEST_CASE("train: plain class folders, train and val alone, from folders to numbers", "[cli]") {
  const TestFolder folder("cli-splits");
  write_pictures(folder, "pictures");
  const std::string run = folder.path("run").string();
  const CliResult bare = run_cli("train", {experiment(folder, "{}"), "--out", run});
  CHECK(bare.code == 2);
  CHECK_THAT(bare.err, Catch::Contains("set for example dataset.split.test=0.2"));

  const std::string file = experiment(folder, R"({"val": 0.25})");
  const CliResult trained = run_cli("train", {file, "--out", run, "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json summary = json::parse(trained.out);
  CHECK(summary["metrics"].contains("val"));
  CHECK_FALSE(summary["metrics"].contains("test"));
  CHECK(summary["data"]["samples"] == json({{"train", 30}, {"val", 10}}));
  const json lists = read(folder.path("run/splits.json"));
  CHECK(lists.size() == 2);
  CHECK(lists["train"].size() == 30);
  CHECK(lists["val"].size() == 10);
  CHECK(lists["val"][0].get<std::string>().starts_with("bright/"));
  const CliResult scored = run_cli("eval", {run, "--json"});
  REQUIRE(scored.code == 0);
  CHECK(json::parse(scored.out)["samples"] == 10);

  // A copy elsewhere is the same data; a fold of it is another cut.
  write_pictures(folder, "copy");
  const std::string other = folder.path("other").string();
  REQUIRE(run_cli("train",
                  {file, "--out", other, "--set", "dataset.root=" + folder.path("copy").string(),
                   "--set", "dataset.split.val=0", "--set", "dataset.split.fold=4/5"})
              .code == 0);
  const json again = read(folder.path("other/summary.json"));
  CHECK(again["data"]["hash"] == summary["data"]["hash"]);
  CHECK(again["data"]["samples"] == json({{"train", 32}, {"val", 8}}));

  // Other pictures under the names of the old ones are not gone on with.
  const auto picture = folder.path("pictures/dark/1.ppm");
  const std::string content = io::read_text(picture);
  io::write_atomic(picture, content.substr(0, content.size() - 1) + "\x7f");
  const CliResult resumed = run_cli("train", {"--resume", "--out", run});
  CHECK(resumed.code == 1);
  CHECK_THAT(resumed.err, Catch::Contains("the data are not those this run began with") &&
                              Catch::Contains("train into a new folder with --out"));
  io::write_atomic(picture, content);
  CHECK(run_cli("train", {"--resume", "--out", run}).code == 0);
}
