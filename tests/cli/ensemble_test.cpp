// eval of several runs: the scores of the mean of their probabilities.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <sstream>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::string trained(const TestFolder& folder, const std::string& name, const std::string& text,
                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {folder.write(name + ".json", text), "--out",
                                    folder.path(name).string(), "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  const CliResult done = run_cli("train", words);
  INFO(done.err);
  REQUIRE(done.code == 0);
  return folder.path(name).string();
}

json scored(const TestFolder& folder, const std::string& out, std::vector<std::string> words) {
  words.insert(words.end(), {"--json", "--out", folder.path(out).string()});
  const CliResult done = run_cli("eval", words);
  INFO(done.err);
  REQUIRE(done.code == 0);
  return json::parse(done.out);
}

// The numbers behind "index,name,label," of every row.
std::vector<double> numbers_of(const io::fs::path& csv) {
  std::vector<double> numbers;
  std::istringstream rows(io::read_text(csv));
  std::string row, cell;
  std::getline(rows, row);
  while (std::getline(rows, row)) {
    std::istringstream cells(row);
    for (int column = 0; std::getline(cells, cell, ','); ++column)
      if (column >= 3) numbers.push_back(std::stod(cell));
  }
  return numbers;
}

const char* const kMasks = R"({
  "name": "masks", "task": "segmentation",
  "dataset": {"type": "synthetic_segmentation", CLASSES "img_size": 16,
              "train_size": 8, "test_size": 5},
  "model": {"type": "unet", "widths": [4, 8], "decoder_channels": [4]},
  "train": {"epochs": 1, "batch_size": 4}})";

std::string with_classes(const std::string& classes) {
  std::string text = kMasks;
  return text.replace(text.find("CLASSES"), 7, classes);
}

}  // namespace

TEST_CASE("eval: several classifiers are scored by the mean of their probabilities", "[cli]") {
  const TestFolder folder("cli-eval-ensemble");
  const std::string text = R"({"name": "sweep/tiny", "dataset": {"type": "digits", "root": ")" +
                           source_dir() + R"(/datasets/digits",
    "limit": {"train": 60, "test": 20}},
    "model": {"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
              "attention": {"num_heads": 2}}, "train": {"epochs": 2, "batch_size": 20}})";
  const std::string a = trained(folder, "a", text);
  const std::string b = trained(folder, "b", text, {"--set", "seed=2"});
  const std::string c = folder.path("b.fovea").string();
  REQUIRE(run_cli("export", {b, "--out", c}).code == 0);
  const json of_a = scored(folder, "of_a", {a, "--save", "probabilities.csv"});
  const json of_b = scored(folder, "of_b", {b, "--save", "probabilities.csv"});
  const json both = scored(folder, "both", {a, c, "--save", "probabilities.csv"});
  const auto pa = numbers_of(folder.path("of_a/probabilities.csv")),
             pb = numbers_of(folder.path("of_b/probabilities.csv")),
             mean = numbers_of(folder.path("both/probabilities.csv"));
  REQUIRE(mean.size() == 20 * 10);
  for (std::size_t i = 0; i < mean.size(); ++i)
    CHECK(mean[i] == Approx((pa[i] + pb[i]) / 2).epsilon(1e-5));
  REQUIRE(both["members"].size() == 2);
  CHECK(both["members"][0]["metrics"] == of_a["metrics"]);
  CHECK(both["members"][1]["metrics"] == of_b["metrics"]);
  CHECK(both["members"][1]["run"] == c);
  CHECK(scored(folder, "twice", {a, a})["metrics"]["top1"] == of_a["metrics"]["top1"]);

  const CliResult shown = run_cli("eval", {a, c, "--out", folder.path("shown").string()});
  REQUIRE(shown.code == 0);
  CHECK_THAT(shown.out,
             Catch::StartsWith("sweep/tiny (20 samples of test, the mean of the probabilities of 2 "
                               "runs)\n  run 1: " +
                               a) &&
                 Catch::Contains("run 1       run 2    ensemble\n"));

  const CliResult in_default = run_cli("/bin/sh", {"-c", "cd " + folder.path().string() + " && " +
                                                             bin_dir() + "/eval a b.fovea -q"});
  INFO(in_default.err);
  CHECK(in_default.code == 0);
  CHECK(io::fs::exists(folder.path("eval/sweep-tiny-ensemble/test/results.json")));

  const std::string masks = trained(folder, "masks", with_classes("\"num_classes\": 3,"));
  const std::string out = folder.path("none").string();
  check_refusal(run_cli("eval", {a, masks, "--out", out}), 2, "run 2 (masks): its network is");
  check_refusal(run_cli("eval", {a, b, "--noise", "gaussian", "--out", out}), 2,
                "--noise: is of one run");
  const std::string fewer = trained(folder, "fewer", text, {"--set", "dataset.limit.test=10"});
  check_refusal(run_cli("eval", {a, fewer, "--out", out}), 2,
                "has 10 samples of test, the first run's 20; expected the same");
}

TEST_CASE("eval: several segmentations, as predict's mean", "[cli]") {
  const TestFolder folder("cli-eval-ensemble-masks");
  const std::string classes = GENERATE("", "\"num_classes\": 3,");
  const std::string a = trained(folder, "a", with_classes(classes));
  const std::string b = trained(folder, "b", with_classes(classes), {"--set", "seed=2"});
  const json of_a = scored(folder, "of_a", {a}), twice = scored(folder, "twice", {a, a});
  // A pixel may change its class: probabilities in float32 can be equal where logits are not.
  for (const auto& [name, value] : of_a["metrics"].items())
    if (value.is_number())
      CHECK(twice["metrics"][name].get<double>() == Approx(value.get<double>()).epsilon(0.01));
  const json both = scored(folder, "both", {a, b});
  CHECK(both["metrics"] != of_a["metrics"]);
  CHECK(both["members"][0]["metrics"] == of_a["metrics"]);
}

TEST_CASE("eval and predict: mirroring", "[cli]") {
  const TestFolder folder("cli-mirror");
  const std::string run = trained(folder, "run", with_classes(""));
  const json plain = scored(folder, "plain", {run});
  const json mirrored = scored(folder, "mirrored", {run, "--mirror", "0,1"});
  CHECK(mirrored["metrics"]["loss"] != plain["metrics"]["loss"]);
  CHECK(scored(folder, "set", {run, "--set", "eval.inferer.mirror_axes=[0,1]"})["metrics"] ==
        mirrored["metrics"]);
  data::Image picture{16, 16, 3, {}};
  for (int i = 0; i < 16 * 16 * 3; ++i)
    picture.pixels.push_back(static_cast<std::uint8_t>(i * i % 251));
  data::write_png(folder.path("own.png"), picture);
  const auto probabilities = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = {run,     folder.path("own.png").string(), "--probabilities",
                                      "--out", folder.path(out).string(),       "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    REQUIRE(run_cli("predict", words).code == 0);
    std::vector<std::string> files;
    for (const auto& entry : io::fs::directory_iterator(folder.path(out)))
      if (entry.path().extension() == ".png") files.push_back(io::read_text(entry.path()));
    return files;
  };
  CHECK((probabilities("with", {"--mirror", "1"}) != probabilities("without", {})));
  const std::string out = folder.path("none").string();
  check_refusal(run_cli("eval", {run, "--mirror", "0,2", "--out", out}), 2,
                "eval.inferer.mirror_axes: 2, but samples have 2 axes");
  check_refusal(run_cli("eval", {run, "--mirror", "x", "--out", out}), 2, "mirror_axes");
}
