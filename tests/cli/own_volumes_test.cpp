// Volumes of one's own: predict and visualise-attention, without the data that a run was trained
// on; channels in files of their own or along a fourth axis.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/files/nifti.h"
#include "tests/cli/pictures.h"
#include "tests/cli/refusal.h"
#include "tests/data/nifti_files.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/visualise/packed_page.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

CliResult run_well(const std::string& program, const Words& words) {
  const CliResult result = run_cli(program, words);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return result;
}

// One channel of a case: a block that is bright in the first and dark in the second.
data::test::NiftiFile channel(int n, int c) {
  data::test::NiftiFile file{.depth = 8, .height = 16, .width = 18, .values = {}};
  file.sform = {{{-1.5f, 0, 0, 5}, {0, -1.25f, 0, 6}, {0, 0, 8, 7}}};
  for (int i = 0; i < 8 * 16 * 18; ++i) {
    const int d = i / 288, h = i / 18 % 16, w = i % 18;
    const bool block = d > 1 && d < 7 && h > 3 + n && h < 13 && w > 4 && w < 14;
    file.values.push_back(static_cast<std::int16_t>(100 + (block == (c == 0) ? 80 : 0) + i % 7));
  }
  return file;
}

data::test::NiftiFile labels(int n) {
  data::test::NiftiFile file = channel(n, 0);
  for (std::int16_t& value : file.values) value = value > 140 ? 1 : 0;
  return file;
}

// Both along a fourth axis.
data::test::NiftiFile both_channels(int n) {
  data::test::NiftiFile file = channel(n, 0);
  const data::test::NiftiFile second = channel(n, 1);
  file.channels = 2;
  file.values.insert(file.values.end(), second.values.begin(), second.values.end());
  return file;
}

// A run on two channels, trained on files of four axes, as the Medical Segmentation Decathlon has
// them.
std::string two_channel_run(const TestFolder& folder, const std::string& name,
                            const Words& more = {}) {
  folder.write("data/dataset.json", R"({"labels": {"background": 0, "block": 1},
                                        "channel_names": {"0": "T1", "1": "T2"}})");
  for (int n = 0; n < 3; ++n) {
    folder.write(fmt::format("data/imagesTr/case_{}.nii", n), both_channels(n).bytes());
    folder.write(fmt::format("data/labelsTr/case_{}.nii", n), labels(n).bytes());
  }
  const std::string experiment = folder.write(name + ".json", R"({
    "name": "two", "task": "segmentation",
    "dataset": {"type": "nnunet", "root": ")" + folder.path("data").string() +
                                                                  R"(",
                "img_size": [8, 16, 16], "samples_per_epoch": 8, "split": {"test": 0.34}},
    "model": {"type": "unet3d", "f_maps": [4, 8], "num_groups": 2},
    "optimizer": {"type": "adamw", "lr": 0.02},
    "train": {"epochs": 2, "batch_size": 2, "eval_every": 2},
    "eval": {"inferer": {"type": "nnunet_windows", "roi_size": [8, 16, 16]}}})");
  const std::string run = folder.path(name).string();
  Words words = {experiment, "--out", run, "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  run_well("train", words);
  return run;
}

const json& only_case(const json& page) {
  REQUIRE(page["cases"].size() == 1);
  return page["cases"][0];
}

json page_data(const io::fs::path& file) { return data_of_page(io::read_text(file)); }

}  // namespace

TEST_CASE("own volumes: channels of four axes and of single files are the same", "[cli]") {
  const TestFolder folder("cli-own-channels");
  const std::string run = two_channel_run(folder, "run");
  const std::string four = folder.write("own/four.nii", both_channels(1).bytes());
  const std::string first = folder.write("own/apart_0000.nii", channel(1, 0).bytes());
  const std::string second = folder.write("own/apart_0001.nii", channel(1, 1).bytes());
  const std::string scored = folder.path("scores").string();
  run_well("eval", {run, "--save", "volumes", "--out", scored, "--quiet"});
  io::fs::remove_all(folder.path("data"));

  const std::string out = folder.path("out").string();
  run_well("predict", {run, second, four, first, "--out", out, "--quiet"});
  const data::Volume found = data::read_nifti(folder.path("out/four.nii.gz"));
  CHECK(found.channels == 1);
  CHECK(found.affine == data::read_nifti_size(four).affine);
  CHECK(found.values == data::read_nifti(folder.path("out/apart.nii.gz")).values);
  const std::string one = folder.write("own/one.nii", channel(1, 0).bytes());
  const CliResult refused = run_cli("predict", {run, one, "--out", out + "2", "--quiet"});
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err,
             Catch::Contains("one.nii: 1 file of channels; the data set has 2, in files that end "
                             "in _0000, _0001, ..., or along the fourth axis of one"));
  data::test::NiftiFile three = both_channels(1);
  three.channels = 3;
  three.values.resize(3 * three.values.size() / 2);
  const std::string many = folder.write("own/three.nii", three.bytes());
  const CliResult more = run_cli("predict", {run, many, "--out", out + "3", "--quiet"});
  CHECK_THAT(more.err, Catch::Contains("three.nii: 3 channels along its fourth axis; the data set "
                                       "has 2"));

  // Pictures of both name the planes and have no truth.
  const std::string pictures = folder.path("pictures").string();
  const CliResult drawn =
      run_well("visualise-attention", {run, "--input", four, "--input", second, "--input", first,
                                       "--slices", "1", "--out", pictures});
  CHECK_THAT(drawn.out,
             Catch::Contains("four") && Catch::Contains("apart") && Catch::Contains("no truth"));
  CHECK(is_png_file(folder.path("pictures/slices-run-four.png")));
  const json page = page_data(folder.path("pictures/volumes-run.html"));
  REQUIRE(page["cases"].size() == 2);
  for (const json& shown : page["cases"]) {
    CHECK(shown["truth"] == false);
    CHECK(shown["codes"] == "SPL");
    CHECK(shown["spacing"] == json({8.0, 1.25, 1.5}));
    CHECK_FALSE(shown["classes"][1].contains("dice"));
  }
  CHECK_THAT(page["title"].get<std::string>(), Catch::EndsWith("slices of given files"));
}

TEST_CASE("own volumes: attention without the training data, from an exported run", "[cli]") {
  const TestFolder folder("cli-own-attention");
  const std::string run = folder.path("run").string();
  run_well("train",
           {source_dir() + "/experiments/smoke/dformer.json", "--set", "train.epochs=1", "--set",
            "dataset.train_size=2", "--set", "dataset.test_size=1", "--out", run, "--quiet"});
  const std::string model = folder.path("run.fovea").string();
  run_well("export", {run, "--out", model});
  io::fs::remove_all(run);
  const std::string scan = folder.write("scan.nii", channel(0, 0).bytes());
  const io::fs::path out = folder.path("pictures");
  run_well("visualise-attention", {model, "--input", scan, "--out", out.string()});
  CHECK(is_png_file(out / "rollout-run-scan.png"));
  const json page = page_data(out / "volumes-run.html");
  CHECK(only_case(page)["maps"].size() == 7);
  CHECK(only_case(page)["name"] == "scan");
  const io::fs::path asked = folder.path("asked");
  run_well("visualise-attention",
           {model, "--input", scan, "--query", "4,8,9", "--out", asked.string()});
  CHECK(only_case(page_data(asked / "volumes-run.html"))["signed"] == false);

  const auto refused = [&](Words words, const std::string& message) {
    words.insert(words.begin(), {model});
    words.insert(words.end(), {"--out", folder.path("refused").string()});
    check_refusal(run_cli("visualise-attention", words), 2, message);
  };
  refused({"--input", scan, "--query", "9,8,9"}, "scan has 8 x 16 x 18");
  refused({"--input", "none.nii"}, "--input none.nii: not found; expected the number of a sample");
  refused({"--input", folder.write("notes.txt", "x")},
          "expected the number of a sample, or a .nii");
  refused({"--input", scan, "--figure", "pca"}, "run reads volumes; expected a network of images");
}

TEST_CASE("visualise-attention --figure predictions: volumes of several runs", "[cli]") {
  const TestFolder folder("cli-volume-predictions");
  const std::string one = two_channel_run(folder, "one");
  // Another spacing: the runs share the grid of the file alone.
  const std::string two =
      two_channel_run(folder, "two", {"--set", "dataset.spacing=[8, 2, 2]", "--set", "seed=2"});
  const auto draw = [&](const std::string& out, Words words) {
    words.insert(words.begin(), {one, two, "--figure", "predictions"});
    words.insert(words.end(), {"--out", folder.path(out).string()});
    return run_cli("visualise-attention", words);
  };
  const CliResult judged = draw("judged", {"--input", "0", "--slices", "2"});
  INFO(judged.err);
  REQUIRE(judged.code == 0);
  CHECK(is_png_file(folder.path("judged/predictions.png")));
  // Dice is that of eval.
  run_well("eval", {one, "--out", folder.path("scores").string(), "--quiet"});
  const json summary = json::parse(io::read_text(folder.path("scores/summary.json")));
  const double dice = summary["metric_per_case"][0]["metrics"]["1"]["Dice"];
  CHECK_THAT(judged.out, Catch::StartsWith("one ") &&
                             Catch::Contains(fmt::format("Dice {:.2f} %", 100 * dice)) &&
                             Catch::Contains("\ntwo "));
  const std::string four = folder.write("own/four.nii", both_channels(1).bytes());
  const CliResult own = draw("own", {"--input", four, "--plane", "coronal", "--query", "4,8,9",
                                     "--boxes", "2", "--convention", "neurological"});
  INFO(own.err);
  REQUIRE(own.code == 0);
  CHECK_THAT(own.out, Catch::Contains("no truth"));
  check_refusal(draw("bad", {"--input", four, "--plane", "oblique"}), 2,
                "--plane oblique: unknown (known: axial, coronal, sagittal)");
}
