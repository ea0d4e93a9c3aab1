// Whole volumes from NIfTI files to predictions on their grid: train, eval, predict.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/files/nifti.h"
#include "tests/cli/refusal.h"
#include "tests/data/nifti_files.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/visualise/packed_page.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// Six cases of 10 x 18 x 20 voxels with a bright block of class 1, framed by zeros. `lying`: slices
// run to the right, rows backwards, columns downwards.
void write_block_cases(const TestFolder& folder, bool lying) {
  folder.write("data/dataset.json",
               R"({"labels": {"background": 0, "block": 1}, "channel_names": {"0": "MRI"}})");
  for (int n = 0; n < 6; ++n) {
    data::test::NiftiFile image{.depth = 10, .height = 18, .width = 20, .values = {}};
    if (lying) image.sform = {{{0, 0, 8, 5}, {0, -1.25f, 0, 6}, {-1.5f, 0, 0, 7}}};
    data::test::NiftiFile labels = image;
    for (int i = 0; i < 10 * 18 * 20; ++i) {
      const int d = i / 360, h = i / 20 % 18, w = i % 20;
      const bool block = d > 1 && d < 8 && h > 3 + n % 3 && h < 12 && w > 4 && w < 14;
      const bool frame = h == 0 || w == 0;
      image.values.push_back(
          static_cast<std::int16_t>(frame ? 0 : 100 + (block ? 80 : 0) + i * 7 % 11));
      labels.values.push_back(block ? 1 : 0);
    }
    folder.write(fmt::format("data/imagesTr/case_{}.nii", n), image.bytes());
    folder.write(fmt::format("data/labelsTr/case_{}.nii", n), labels.bytes());
  }
}

const char* const kExperiment = R"({
  "name": "tiny_volumes", "task": "segmentation",
  "dataset": {"type": "nnunet", "root": "ROOT", "img_size": [8, 16, 16],
              "samples_per_epoch": 40, "split": {"test": 0.34}},
  "model": {"type": "unet3d", "f_maps": [4, 8], "num_groups": 2},
  "loss": {"type": "nnunet", "batch_dice": true},
  "optimizer": {"type": "adamw", "lr": 0.02},
  "train": {"epochs": 6, "batch_size": 2, "eval_every": 6},
  "eval": {"inferer": {"type": "nnunet_windows", "roi_size": [8, 16, 16]},
           "metrics": ["case_dice", "hd95_mm"]}
})";

}  // namespace

TEST_CASE("volumes: train, eval and predict on the grid of the files", "[cli]") {
  const TestFolder folder("cli-volumes");
  const bool canonical = GENERATE(false, true);
  write_block_cases(folder, canonical);
  std::string text = kExperiment;
  if (canonical) text.replace(text.find("\"samples_per"), 0, "\"canonical\": true, ");
  text.replace(text.find("ROOT"), 4, folder.path("data").string());
  const std::string experiment = folder.write("volumes.json", text);
  const std::string run = folder.path("run").string(), scores = folder.path("scores").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  CHECK(io::fs::exists(folder.path("run") / "plan.json"));
  const CliResult scored =
      run_cli("eval", {run, "--save", "volumes,probabilities", "--out", scores, "--quiet"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  const json summary = json::parse(io::read_text(folder.path("scores") / "summary.json"));
  REQUIRE(summary["metric_per_case"].size() == 2);
  CHECK(summary["foreground_mean"]["Dice"].get<double>() > 0.8);
  const json& first = summary["metric_per_case"][0];
  const json& counts = first["metrics"]["1"];
  CHECK(counts["TP"].get<double>() + counts["FN"].get<double>() == counts["n_ref"].get<double>());
  const double sum = counts["TP"].get<double>() + counts["FP"].get<double>() +
                     counts["FN"].get<double>() + counts["TN"].get<double>();
  CHECK(sum == 10 * 18 * 20);

  const std::string name = first["case"];
  const auto image = folder.path("data") / "imagesTr" / (name + ".nii");
  const data::Volume saved =
      data::read_nifti(folder.path("scores") / "predicted_volumes" / (name + ".nii.gz"));
  const data::Volume truth = data::read_nifti(folder.path("data") / "labelsTr" / (name + ".nii"));
  double common = 0;
  for (std::size_t i = 0; i < truth.values.size(); ++i)
    common += double{truth.values[i]} * double{saved.values.at(i)};
  CHECK(common == counts["TP"].get<double>());
  CHECK(saved.spacing == data::read_nifti(image).spacing);
  CHECK(saved.affine == data::read_nifti(image).affine);
  CHECK(
      data::read_nifti(folder.path("scores") / "predicted_probabilities" / (name + "_block.nii.gz"))
          .values.size() == saved.values.size());

  const std::string out = folder.path("predicted").string();
  const CliResult predicted = run_cli("predict", {run, image.string(), "--out", out});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  CHECK_THAT(predicted.err, Catch::Contains("1/1  "));
  CHECK(data::read_nifti(folder.path("predicted") / (name + ".nii.gz")).values == saved.values);
  REQUIRE(run_cli("predict", {run, run, "--input", image.string(), "--quiet", "--out",
                              folder.path("mean").string()})
              .code == 0);
  CHECK(data::read_nifti(folder.path("mean") / (name + ".nii.gz")).values == saved.values);

  // Post-processed volumes are those that eval scores, with sizes in the file's millimetres.
  const auto processed = [&](const std::string& to, const std::string& size) {
    const std::vector<std::string> flags = {"--keep-largest", "foreground", "--min-size", size,
                                            "--quiet",        "--out"};
    std::vector<std::string> score = {run, "--save", "volumes"}, write = {run, image.string()};
    for (auto* words : {&score, &write}) words->insert(words->end(), flags.begin(), flags.end());
    score.push_back(folder.path(to + "_scores").string());
    write.push_back(folder.path(to).string());
    REQUIRE(run_cli("eval", score).code == 0);
    REQUIRE(run_cli("predict", write).code == 0);
    const auto values = data::read_nifti(folder.path(to) / (name + ".nii.gz")).values;
    CHECK(values ==
          data::read_nifti(folder.path(to + "_scores") / "predicted_volumes" / (name + ".nii.gz"))
              .values);
    double foreground = 0;
    for (const float value : values) foreground += double{value};
    return foreground;
  };
  const double largest = processed("largest", "1");
  CHECK(largest > 0);
  const auto& spacing = saved.spacing;
  const double voxel = spacing[0] * spacing[1] * spacing[2];
  CHECK(processed("same", fmt::format("{}mm3", largest * voxel * 0.99)) == largest);
  CHECK(processed("gone", fmt::format("{}mm3", largest * voxel * 1.01)) == 0);
  check_refusal(run_cli("eval", {run, "--min-size", "3mm2", "--out", scores + "2"}), 2,
                "in mm2, but predictions have 3 axes; expected mm3");

  // Pictures have the file's directions, and name its voxels.
  const auto draw = [&](const std::string& query) {
    return run_cli("visualise-attention", {run, "--input", "0", "--query", query, "--out",
                                           folder.path("pictures").string()});
  };
  const CliResult drawn = draw("4,8,9");
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  const json shown =
      data_of_page(io::read_text(folder.path("pictures") / "volumes-run.html"))["cases"][0];
  CHECK(shown["codes"] == (canonical ? "SAR" : ""));
  CHECK(shown["planes"][0]["name"] == (canonical ? "axial" : "across depth"));
  CHECK(shown["file"][0]["axis"] == (canonical ? 2 : 0));
  CHECK(shown["file"][0]["size"] == (canonical ? 20 : 10));
  CHECK(shown["file"][0]["step"].get<double>() * (canonical ? -1 : 1) > 0);
  check_refusal(draw("0,0,5"), 2,
                "lies outside the part of " + name +
                    " that the network sees (its border of zeros is cut off): expected slices 0 "
                    "to 9, rows 1 to 17, columns 1 to 19");
  check_refusal(draw("10,8,9"), 2, name + " has 10 x 18 x 20");

  check_refusal(run_cli("predict", {run, image.string(), "--out", out}), 1, "holds something");
  check_refusal(run_cli("predict", {run, folder.path("no.nii").string(), "--out", run + "2"}), 1,
                "no.nii: not found");
  const std::string bad = folder.write("bad.nii", "no volume");
  const std::string both = folder.path("both").string();
  const CliResult partly = run_cli("predict", {run, bad, image.string(), "--out", both, "--quiet"});
  CHECK(partly.code == 1);
  CHECK_THAT(partly.err, Catch::Contains("bad.nii: holds 9 bytes"));
  CHECK(io::fs::exists(folder.path("both") / (name + ".nii.gz")));
}
