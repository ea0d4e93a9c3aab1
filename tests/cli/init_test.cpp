// From a folder to a prediction in four commands: init, train, eval, predict.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/cli/refusal.h"
#include "tests/data/nifti_files.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Grey with a bright square, whose place and colour follow the number.
data::Image picture(std::int64_t side, int number, bool mask) {
  data::Image image{.height = side, .width = side, .channels = mask ? 1 : 3, .pixels = {}};
  for (std::int64_t p = 0; p < side * side; ++p) {
    const std::int64_t row = p / side, column = p % side, first = 4 + number % 5;
    const bool square =
        row >= first && row < first + side / 3 && column >= first && column < first + side / 3;
    for (std::int64_t c = 0; c < image.channels; ++c) {
      const bool bright = square && (mask || c == number % 2);
      image.pixels.push_back(static_cast<std::uint8_t>(bright ? 255 : mask ? 0 : 40 + p * 7 % 31));
    }
  }
  return image;
}

void write_picture(const TestFolder& folder, const std::string& name, const data::Image& image) {
  folder.write(name, data::encode_png(image));
}

// One epoch of what init wrote, scored, and `input` predicted.
void check_four_commands(const TestFolder& folder, const std::string& kind, const std::string& data,
                         const std::vector<std::string>& input) {
  const std::string experiment = folder.path("own.json").string();
  const std::string run = folder.path("run").string(), out = folder.path("predictions").string();
  const CliResult begun = run_cli("init", {kind, data, "--out", experiment});
  INFO(begun.out << begun.err);
  REQUIRE(begun.code == 0);
  CHECK_THAT(begun.out, Catch::Contains("fovea train " + experiment));
  const std::string written = io::read_text(experiment);
  CHECK_THAT(written, Catch::StartsWith("// Written by fovea init " + kind));
  std::vector<std::string> train = {experiment, "--out", run, "--quiet", "--set", "train.epochs=1"};
  if (kind == "nnunet")
    train.insert(train.end(),
                 {"--set", "dataset.samples_per_epoch=4", "--set", "train.eval_every=1"});
  const CliResult trained = run_cli("train", train);
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const CliResult scored = run_cli("eval", {run, "--quiet"});
  INFO(scored.err);
  CHECK(scored.code == 0);
  std::vector<std::string> predict = {run, "--out", out, "--quiet"};
  predict.insert(predict.end(), input.begin(), input.end());
  const CliResult predicted = run_cli("predict", predict);
  INFO(predicted.err);
  CHECK(predicted.code == 0);

  CHECK(run_cli("init", {kind, data, "--out", experiment}).code == 2);
  CHECK(io::read_text(experiment) == written);
  CHECK(run_cli("init", {kind, data, "--out", experiment, "--force", "--quiet"}).code == 0);
}

}  // namespace

TEST_CASE("init: pictures in folders of classes", "[cli]") {
  const TestFolder folder("cli-init-images");
  for (int n = 0; n < 40; ++n)
    write_picture(folder, fmt::format("data/{}/{}.png", n % 2 == 0 ? "red" : "green", n),
                  picture(20 + n % 3, n, false));
  check_four_commands(folder, "images", folder.path("data").string(),
                      {folder.path("data/red/0.png").string()});
}

TEST_CASE("init: images with masks, whose names have more behind them", "[cli]") {
  const TestFolder folder("cli-init-masks");
  for (int n = 0; n < 20; ++n) {
    write_picture(folder, fmt::format("data/images/{}.png", n + 10), picture(32, n, false));
    write_picture(folder, fmt::format("data/masks/{}_mask.png", n + 10), picture(32, n, true));
  }
  check_four_commands(folder, "masks", folder.path("data").string(),
                      {folder.path("data/images/10.png").string()});
  CHECK_THAT(io::read_text(folder.path("own.json")), Catch::Contains(R"("mask_suffix": "_mask")"));
}

TEST_CASE("init: volumes in nnU-Net's folders", "[cli]") {
  const TestFolder folder("cli-init-nnunet");
  folder.write("data/dataset.json",
               R"({"labels": {"background": 0, "block": 1}, "channel_names": {"0": "MRI"}})");
  for (int n = 0; n < 5; ++n) {
    data::test::NiftiFile image{.depth = 10, .height = 18, .width = 20, .values = {}};
    data::test::NiftiFile labels = image;
    for (int i = 0; i < 10 * 18 * 20; ++i) {
      const bool block = i / 360 > 2 && i / 20 % 18 > 4 + n && i % 20 > 8;
      image.values.push_back(static_cast<std::int16_t>(100 + (block ? 80 : 0) + i * 7 % 11));
      labels.values.push_back(block ? 1 : 0);
    }
    folder.write(fmt::format("data/imagesTr/case_{}_0000.nii", n), image.bytes());
    folder.write(fmt::format("data/labelsTr/case_{}.nii", n), labels.bytes());
  }
  check_four_commands(folder, "nnunet", folder.path("data").string(),
                      {folder.path("data/imagesTr/case_0_0000.nii").string()});
  const CliResult plan =
      run_cli("inspect", {"dataset", folder.path("own.json").string(), "--plan", "--json"});
  CHECK(plan.code == 0);
  CHECK_THAT(plan.out, Catch::Contains("\"proposal\""));
}

TEST_CASE("init: texts in a table without a header", "[cli]") {
  const TestFolder folder("cli-init-texts");
  std::string table;
  for (int n = 0; n < 60; ++n)
    table += fmt::format("{},\"a {} film number {}, and so on\"\n", n % 2 == 0 ? "pos" : "neg",
                         n % 2 == 0 ? "good" : "bad", n);
  folder.write("data/films.csv", table);
  check_four_commands(folder, "texts", folder.path("data/films.csv").string(),
                      {"--text", "a good film"});
  CHECK_THAT(io::read_text(folder.path("own.json")), Catch::Contains(R"("header": false)"));
}

// All settings are the defaults of text_csv then.
TEST_CASE("init: texts in tables whose columns are called text and label", "[cli]") {
  const TestFolder folder("cli-init-plain-texts");
  std::string table = "text,label\n";
  for (int n = 0; n < 60; ++n)
    table += fmt::format("a {} film {},{}\n", n % 2 == 0 ? "good" : "bad", n,
                         n % 2 == 0 ? "pos" : "neg");
  folder.write("data/train.csv", table);
  folder.write("data/test.csv", table);
  const CliResult made = run_cli(
      "init", {"texts", folder.path("data").string(), "--out", folder.path("own.json").string()});
  INFO(made.err);
  CHECK(made.code == 0);
  const CliResult tried = run_cli("train", {folder.path("own.json").string(), "--dry-run"});
  INFO(tried.err);
  CHECK(tried.code == 0);
}

TEST_CASE("init: folders that are not clear are refused, with what was expected", "[cli]") {
  const TestFolder folder("cli-init-refused");
  folder.write("empty/notes.md", "nothing");
  folder.write("tables/a.csv", "text,label\n");
  folder.write("tables/b.csv", "text,label\n");
  folder.write("one.csv", "a,b\n1,2\n3,4\n5,6\n");
  const auto refused = [&](const std::string& kind, const std::string& data,
                           const std::string& message) {
    const CliResult result = run_cli(
        "init", {kind, folder.path(data).string(), "--out", folder.path("x.json").string()});
    CHECK(result.code != 0);
    CHECK_THAT(result.err, Catch::Contains(message));
    CHECK_FALSE(io::fs::exists(folder.path("x.json")));
  };
  refused("images", "empty", "FOLDER/CLASS/FILE");
  refused("images", "nowhere", "not found; expected folders of classes");
  refused("masks", "empty", "FOLDER/images and FOLDER/masks");
  refused("nnunet", "empty", "FOLDER/dataset.json");
  refused("texts", "tables", "2 tables and none called train");
  refused("texts", "one.csv", "is not clear");
  CHECK(run_cli("init", {}).code == 2);
}
