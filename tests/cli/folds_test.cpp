// Cross-validation with the real programs, on the digits that ship with the project.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// Two rows of a second a fold.
std::string ablation(const std::string& dataset, const std::string& more = "") {
  return fmt::format(R"({{"name": "crossed", "base": {{
  "dataset": {},
  "model": {{"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
             "attention": {{"num_heads": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 3e-3}}, "train": {{"epochs": 2, "batch_size": 32}}}},
  "rows": [{{"name": "narrow"}}, {{"name": "wide", "set": {{"model.embed_dim": 32}}}}]{}}})",
                     dataset, more);
}

const std::string kDigits =
    fmt::format(R"({{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 200}}}})",
                source_dir());

json read(const std::filesystem::path& file) { return json::parse(io::read_text(file)); }

void write_picture(const TestFolder& folder, const std::string& name) {
  io::make_directories(folder.path(name).parent_path());
  io::write_atomic(folder.path(name), "P6\n8 8\n255\n" + std::string(8 * 8 * 3, '\x40'));
}

}  // namespace

TEST_CASE("ablate --folds: every case is validated once, and pairs the rows", "[cli]") {
  const TestFolder folder("cli-folds");
  const std::string file = folder.write("a/ablation.json", ablation(kDigits));
  const std::string out = folder.path("sweep").string();
  const CliResult first = run_cli("ablate", {file, "--folds", "3", "--out", out, "--json"});
  INFO(first.err);
  REQUIRE(first.code == 0);
  const json results = json::parse(first.out);
  REQUIRE(results.size() == 2);
  CHECK(results[0]["folds"] == json({0, 1, 2}));
  CHECK(results[0]["seeds"] == json({0}));
  CHECK(results[1]["metrics"]["val_top1"]["n"] == 3);
  CHECK_FALSE(results[1]["metrics"].contains("test_top1"));
  const json difference = results[1]["differences"]["val_top1"];
  CHECK(difference["paired_by"] == "case");

  std::map<std::string, std::multiset<std::string>> held_out;  // by row
  int folds = 0;
  for (const auto& run : io::fs::directory_iterator(folder.path("sweep/runs"))) {
    const std::string name = run.path().filename().string();
    const json lists = read(run.path() / "splits.json");
    for (const auto& sample : lists["val"]) held_out[name.substr(0, 4)].insert(sample);
    CHECK(io::fs::exists(run.path() / "checkpoints/best"));
    CHECK(read(run.path() / "config.json")["dataset"]["split"]["stratified"] == true);
    ++folds;
  }
  CHECK(folds == 6);
  REQUIRE(held_out.size() == 2);
  const std::multiset<std::string>& cases = held_out.begin()->second;
  CHECK(held_out.rbegin()->second == cases);
  CHECK(std::set<std::string>(cases.begin(), cases.end()).size() == cases.size());
  CHECK(difference["pairs"] == cases.size());

  // Nothing is left to do; and the table says what its means are over.
  const CliResult second = run_cli("ablate", {file, "--folds", "3", "--out", out});
  CHECK(second.code == 0);
  CHECK(second.err.find("started") == std::string::npos);
  CHECK_THAT(second.out, Catch::Contains("over n = 3 folds, not seeds (seed 0)") &&
                             Catch::Contains("each scored once"));
  CHECK(run_cli("ablate", {file, "--folds", "3", "--out", out, "--check"}).code == 0);
  const CliResult list = run_cli("ablate", {file, "--folds", "3", "--out", out, "--list"});
  CHECK_THAT(list.out, Catch::StartsWith("narrow-s0-f0-"));
}

TEST_CASE("ablate --folds: what leaves no folds is refused before anything starts", "[cli]") {
  const TestFolder folder("cli-no-folds");
  const std::string out = folder.path("sweep").string();
  const auto refused = [&](const std::string& content, const std::vector<std::string>& flags,
                           const std::string& message) {
    std::vector<std::string> words = {folder.write("a/ablation.json", content), "--out", out};
    words.insert(words.end(), flags.begin(), flags.end());
    check_refusal(run_cli("ablate", words), 2, message);
    CHECK_FALSE(io::fs::exists(out));
  };
  const std::vector<std::string> three = {"--folds", "3"};
  refused(ablation(kDigits), {"--folds", "3", "--seeds", "0,1"}, "2 seeds with 3 folds");
  refused(ablation(kDigits), {"--folds", "3", "--set", "dataset.split.val=0.1"},
          "dataset.split.val: is 0.1, but with folds every fold is the val part in turn; set it to "
          "0 (--set dataset.split.val=0) (rows \"narrow\", \"wide\")");
  refused(ablation(kDigits, R"(, "axes": {"dataset.split.fold": ["0/3", "1/3"]})"), three,
          "dataset.split.fold: is given beside folds");

  write_picture(folder, "few/a/1.ppm");
  write_picture(folder, "few/b/2.ppm");
  const auto pictures = [&](const char* name) {
    return ablation(
        fmt::format(R"({{"type": "image_folder", "root": "{}"}})", folder.path(name).string()));
  };
  refused(pictures("few"), three, "dataset.split.fold: 3 folds of 2 samples or groups in train");
  for (const char* part : {"train", "val"}) {
    for (const char* name : {"a/1", "a/2", "b/3", "b/4"})
      write_picture(folder, fmt::format("parts/{}/{}.ppm", part, name));
  }
  refused(pictures("parts"), three,
          "folds: image_folder comes with a val part, whose samples would be in no fold");
}

TEST_CASE("ablate: without eval (tools/quickstart builds none) only --folds is refused", "[cli]") {
  const TestFolder folder("cli-folds-alone");
  for (const char* name : {"ablate", "train"})
    io::fs::copy_file(bin_dir() + "/" + name, folder.path(name));
  const std::string ablate = folder.path("ablate").string();
  const std::string file = folder.write("a/ablation.json", ablation(kDigits));
  const std::string out = folder.path("sweep").string();
  const CliResult folds = run_cli(ablate, {file, "--folds", "3", "--out", out});
  CHECK(folds.code == 1);
  CHECK(folds.err ==
        "ablate: eval is not built; run: cmake --build --preset release --target eval\n");
  CHECK_FALSE(std::filesystem::exists(out));
  const CliResult seeds = run_cli(ablate, {file, "--only", "narrow", "--out", out});
  INFO(seeds.err);
  CHECK(seeds.code == 0);
}
