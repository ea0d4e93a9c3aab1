// predict on pictures: classes, and masks at their own size.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <csignal>
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

// A run that segments, trained for two steps.
std::string small_segmentation(const TestFolder& folder) {
  const std::string experiment = folder.write("tiny.json", R"({
    "name": "tiny", "task": "segmentation",
    "dataset": {"type": "synthetic_segmentation", "num_classes": 3, "img_size": 16,
                "train_size": 8, "test_size": 4},
    "model": {"type": "unet", "widths": [4, 8], "decoder_channels": [4]},
    "train": {"epochs": 1, "batch_size": 4}})");
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  return run;
}

// A run that knows the ten digits, hardly trained.
std::string small_classifier(const TestFolder& folder) {
  const std::string experiment =
      folder.write("tiny.json", R"({
    "name": "tiny", "dataset": {"type": "digits", "root": ")" +
                                    (source_dir() + "/datasets/digits") +
                                    R"(", "limit": {"train": 40, "test": 10}},
    "model": {"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
              "attention": {"num_heads": 2}},
    "train": {"epochs": 1, "batch_size": 20, "batch_invariant": true}})");
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  return run;
}

}  // namespace

TEST_CASE("predict: classes of pictures, whatever the batch", "[cli]") {
  const TestFolder folder("cli-predict-classes");
  const std::string run = small_classifier(folder);
  for (int k = 0; k < 7; ++k) {
    data::Image picture{8, 8, 1, {}};
    for (int i = 0; i < 64; ++i)
      picture.pixels.push_back(static_cast<std::uint8_t>((i * i * (k + 3)) % 256));
    const auto file = folder.path("pictures") / (k < 5 ? "" : "more") / fmt::format("p{}.png", k);
    io::make_directories(file.parent_path());
    data::write_png(file, picture);
  }
  const std::string pictures = folder.path("pictures").string();
  const auto predict = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = {run, pictures, "--out", folder.path(out).string(), "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult predicted = run_cli("predict", words);
    INFO(predicted.err);
    REQUIRE(predicted.code == 0);
    CHECK_THAT(predicted.out, Catch::StartsWith("7 of 7 predicted by "));
  };
  predict("out", {});
  const std::string table = io::read_text(folder.path("out/predictions.csv"));
  CHECK_THAT(table, Catch::StartsWith("name,file,label,label_index,prediction,prediction_index,"
                                      "probability,index\nmore/p5,") &&
                        Catch::Contains("\np0,") && Catch::Contains("p0.png,,,"));
  predict("one", {"--batch-size", "1", "--threads", "1"});
  CHECK(io::read_text(folder.path("one/predictions.csv")) == table);

  predict("all", {"--probabilities", "--batch-size", "3"});
  CHECK_THAT(io::read_text(folder.path("all/predictions.csv")),
             Catch::Contains(",probability,index,0,1,2,"));
  predict("lines", {"--probabilities", "--format", "jsonl"});
  std::istringstream lines(io::read_text(folder.path("lines/predictions.jsonl")));
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const json row = json::parse(line);
    CHECK(row["index"] == rows);
    CHECK(row["label"].is_null());
    double sum = 0;
    for (const auto& p : row["probabilities"]) sum += p.get<double>();
    CHECK(sum == Approx(1));
    CHECK(row["probability"] == row["probabilities"][row["prediction"].get<std::string>()]);
  }
  CHECK(rows == 7);

  folder.write("pictures/broken.png", "no picture");
  const CliResult partly =
      run_cli("predict", {run, pictures, "--out", folder.path("partly").string(), "--quiet"});
  CHECK(partly.code == 1);
  CHECK_THAT(partly.err, Catch::Contains("predict: ") && Catch::Contains("broken.png"));
  CHECK_THAT(partly.out, Catch::StartsWith("7 of 8 predicted by "));
  const CliResult none = run_cli("predict", {run, folder.path("pictures/broken.png").string(),
                                             "--out", folder.path("none").string(), "--quiet"});
  CHECK(none.code == 1);
  CHECK_THAT(none.out, Catch::StartsWith("0 of 1 predicted by "));
  check_refusal(run_cli("predict", {run, "--out", folder.path("b").string()}), 2,
                "--input: expected files");
  check_refusal(run_cli("predict", {run, "--text", "words", "--out", folder.path("b").string()}), 2,
                "--text and --column are of runs that read texts");
  check_refusal(
      run_cli("predict", {run, pictures, "--format", "xml", "--out", folder.path("b").string()}), 2,
      "known: csv, jsonl");
}

TEST_CASE("predict --continue: killed at any moment, the results are those of one pass", "[cli]") {
  const TestFolder folder("cli-predict-continue");
  const std::string run = small_segmentation(folder);
  for (int k = 0; k < 400; ++k) {
    data::Image picture{8, 8, 3, {}};
    for (int i = 0; i < 8 * 8 * 3; ++i)
      picture.pixels.push_back(static_cast<std::uint8_t>((i * k) % 256));
    const auto file = folder.path("pictures") / fmt::format("p{}.png", k);
    io::make_directories(file.parent_path());
    data::write_png(file, picture);
  }
  const auto command = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        run,     folder.path("pictures").string(), "--batch-size", "2",
        "--out", folder.path(out).string(),        "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  REQUIRE(run_cli("predict", command("straight", {})).code == 0);
  CliResult last;
  int kills = 0;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const double wait = kills < 5 ? 0.03 + 0.03 * attempt : 0;
    last = run_cli("predict", command("killed", {"--continue"}),
                   {.signal_after_s = wait, .signal = SIGKILL});
    if (last.code != 128 + SIGKILL) break;
    ++kills;
  }
  INFO(last.err);
  CHECK(kills >= 1);
  REQUIRE(last.code == 0);
  CHECK_THAT(last.out, Catch::StartsWith("400 of 400 predicted by "));
  int files = 0;
  for (const auto& entry : io::fs::directory_iterator(folder.path("straight"))) {
    ++files;
    CAPTURE(entry.path());
    CHECK(io::read_text(folder.path("killed") / entry.path().filename()) ==
          io::read_text(entry.path()));
  }
  CHECK(files == 402);  // the table, predict.json
  check_refusal(run_cli("predict", command("killed", {"--continue", "--probabilities"})), 2,
                "probabilities: false -> true");
  check_refusal(run_cli("predict", command("killed", {})), 1, "or go on with --continue");
}

TEST_CASE("predict: masks lie on the grid of the picture", "[cli]") {
  const TestFolder folder("cli-predict-masks");
  const std::string run = small_segmentation(folder);
  data::Image picture{30, 40, 3, {}};
  picture.pixels.assign(30 * 40 * 3, 100);
  const auto file = folder.path("scene.png");
  data::write_png(file, picture);
  const CliResult predicted = run_cli(
      "predict",
      {run, file.string(), "--out", folder.path("out").string(), "--probabilities", "--quiet"});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  for (const char* name : {"scene.png", "scene_background.png", "scene_disc.png"}) {
    const data::Image mask = data::read_image(folder.path("out") / name, 1);
    CHECK(mask.height == 30);
    CHECK(mask.width == 40);
  }
}

TEST_CASE("predict: a folder's names are kept, and what is left out is said", "[cli]") {
  const TestFolder folder("cli-predict-folder");
  const std::string run = small_segmentation(folder);
  data::Image picture{8, 8, 3, {}};
  picture.pixels.assign(8 * 8 * 3, 100);
  const auto scans = folder.path("scans");
  io::make_directories(scans / "more");
  data::write_png(scans / "\u00dcbung 1 (a).png", picture);
  data::write_png(scans / "b_c.png", picture);
  data::write_png(scans / "more" / "d.png", picture);
  folder.write("scans/e.gif", "a picture of another kind");
  folder.write("scans/notes.txt", "notes");
  const std::string out = folder.path("out").string();
  const CliResult predicted = run_cli("predict", {run, scans.string(), "--out", out});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  CHECK_THAT(predicted.err, Catch::Contains("scans: 2 of 5 files are left out: .gif 1, .txt 1\n"));
  CHECK(io::fs::exists(folder.path("out") / "more" / "d.png"));
  CHECK(io::fs::exists(folder.path("out") / "\u00dcbung 1 (a).png"));
  CHECK(io::fs::exists(folder.path("out") / "b_c.png"));
  CHECK_THAT(io::read_text(folder.path("out") / "predictions.csv"),
             Catch::Contains("\u00dcbung 1 (a)"));
  // Two of one name: neither is lost.
  const CliResult twice =
      run_cli("predict", {run, (scans / "b_c.png").string(), (scans / "b_c.png").string(), "--out",
                          folder.path("twice").string()});
  REQUIRE(twice.code == 0);
  CHECK(io::fs::exists(folder.path("twice") / "b_c (2).png"));
  io::make_directories(folder.path("empty/below"));
  check_refusal(
      run_cli("predict", {run, folder.path("empty").string(), "--out", folder.path("c").string()}),
      1, "holds no picture (");
}

TEST_CASE("predict: several runs are averaged", "[cli]") {
  const TestFolder folder("cli-predict-ensemble");
  data::Image picture{8, 8, 1, {}};
  for (int i = 0; i < 64; ++i) picture.pixels.push_back(static_cast<std::uint8_t>(i * i % 256));
  const std::string file = folder.path("picture.png").string();
  data::write_png(file, picture);
  const std::string first = small_classifier(folder), second = folder.path("second").string();
  const std::string experiment = folder.path("tiny.json").string();
  REQUIRE(run_cli("train", {experiment, "--out", second, "--quiet", "--set", "seed=2"}).code == 0);
  const auto probabilities = [&](const std::string& out, std::vector<std::string> words) {
    words.insert(words.end(), {"--out", folder.path(out).string(), "--quiet", "--format", "jsonl",
                               "--probabilities"});
    const CliResult predicted = run_cli("predict", words);
    INFO(predicted.err);
    REQUIRE(predicted.code == 0);
    const json row = json::parse(io::read_text(folder.path(out) / "predictions.jsonl"));
    std::vector<double> found;
    for (const auto& p : row.at("probabilities")) found.push_back(p.get<double>());
    REQUIRE(found.size() == 10);
    return found;
  };
  const auto a = probabilities("a", {first, file}), b = probabilities("b", {second, file});
  const auto mean = probabilities("mean", {first, second, "--input", file});
  CHECK(a != b);
  for (std::size_t c = 0; c < a.size(); ++c) CHECK(mean[c] == Approx((a[c] + b[c]) / 2));
  CHECK(probabilities("words", {first, second, file}) == mean);

  // Of maps, too; and what differs is said.
  const TestFolder other("cli-predict-ensemble-masks");
  const std::string masks = small_segmentation(other);
  const std::string scaled = other.path("scaled").string(), classes = other.path("four").string();
  const std::string segmentation = other.path("tiny.json").string();
  REQUIRE(
      run_cli("train", {segmentation, "--out", scaled, "--quiet", "--set", "dataset.img_size=24"})
          .code == 0);
  REQUIRE(run_cli("train",
                  {segmentation, "--out", classes, "--quiet", "--set", "dataset.num_classes=4"})
              .code == 0);
  const std::string out = folder.path("none").string();
  REQUIRE(run_cli("predict", {masks, masks, file, "--out", other.path("twice").string()}).code ==
          0);
  REQUIRE(run_cli("predict", {masks, file, "--out", other.path("once").string()}).code == 0);
  CHECK(data::read_image(other.path("twice/picture.png"), 1).pixels ==
        data::read_image(other.path("once/picture.png"), 1).pixels);
  check_refusal(run_cli("predict", {first, masks, file, "--out", out}), 2,
                "run 2 (tiny): its network is");
  check_refusal(run_cli("predict", {masks, scaled, file, "--out", out}), 2,
                "run 2 (tiny): sees pictures at 24 x 24, the first run's 16 x 16;");
  check_refusal(run_cli("predict", {masks, classes, file, "--out", out}), 2,
                "run 2 (tiny): 4 classes (");
  CHECK_FALSE(io::fs::exists(out));
}

TEST_CASE("eval: says that the data are not those of the run", "[cli]") {
  const TestFolder folder("cli-eval-other-data");
  for (const char* part : {"train", "test"}) {
    for (const char* name : {"cat/0", "cat/1", "dog/0", "dog/1"}) {
      data::Image picture{8, 8, 3, {}};
      picture.pixels.assign(8 * 8 * 3, name[0] == 'c' ? 40 : 200);
      const auto file = folder.path(std::string("pictures/") + part + "/" + name + ".png");
      io::make_directories(file.parent_path());
      data::write_png(file, picture);
    }
  }
  const std::string experiment = folder.write(
      "tiny.json", R"({"name": "tiny", "dataset": {"type": "image_folder", "root": ")" +
                       folder.path("pictures").string() + R"(", "img_size": 8},
    "model": {"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
              "attention": {"num_heads": 2}},
    "train": {"epochs": 1, "batch_size": 4}})");
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  const CliResult same = run_cli("eval", {run});
  INFO(same.err);
  REQUIRE(same.code == 0);
  CHECK_THAT(same.err, !Catch::Contains("are not those"));
  const std::string summary = io::read_text(folder.path("run/summary.json"));
  CHECK_THAT(summary, Catch::Contains("\"jpeg_decoder\": \"" + data::jpeg_decoder() + "\""));
  data::Image other{8, 8, 3, {}};
  other.pixels.assign(8 * 8 * 3, 41);
  data::write_png(folder.path("pictures/test/cat/1.png"), other);
  const CliResult changed = run_cli("eval", {run});
  REQUIRE(changed.code == 0);
  CHECK_THAT(changed.err,
             Catch::Contains("note: the data are not those that the run was trained on: ") &&
                 Catch::Contains("(train 4, test 4)"));
  CHECK_THAT(io::read_text(folder.path("run/eval/test/results.json")),
             Catch::Contains("\"data_of_run\""));
  CHECK_THAT(run_cli("train", {"--version"}).out,
             Catch::Contains("JPEG by " + data::jpeg_decoder()));
}
