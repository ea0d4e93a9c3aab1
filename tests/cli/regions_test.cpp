// Volumes with regions, from the folders of nnU-Net to predictions on their grid.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "data/files/nifti.h"
#include "tests/cli/refusal.h"
#include "tests/support/run_cli.h"
#include "tests/training/region_set.h"
#include "tests/visualise/packed_page.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

const char* const kExperiment = R"({
  "name": "tiny_regions", "task": "segmentation",
  "dataset": {"type": "nnunet", "root": "ROOT", "img_size": [8, 8, 8], "samples_per_epoch": 20,
              "split": {"test": 0.34}},
  "model": {"type": "unet3d", "f_maps": [4, 8], "num_groups": 2},
  "loss": {"type": "nnunet"},
  "optimizer": {"type": "adamw", "lr": 0.02},
  "train": {"epochs": 6, "batch_size": 2, "eval_every": 6},
  "eval": {"inferer": {"type": "nnunet_windows", "roi_size": [8, 8, 8]},
           "metrics": ["case_dice", "hd95_mm"]}
})";

std::string experiment_on(const TestFolder& folder, const std::string& data) {
  std::string text = kExperiment;
  text.replace(text.find("ROOT"), 4, folder.path(data).string());
  return folder.write(data + ".json", text);
}

std::set<std::string> keys_of(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

}  // namespace

TEST_CASE("regions: train, eval and predict as nnU-Net does", "[cli]") {
  const TestFolder folder("cli-regions");
  write_region_set(folder.path("data"), 6);
  const std::string experiment = experiment_on(folder, "data");
  const std::string run = folder.path("run").string(), scores = folder.path("scores").string();
  const CliResult trained = run_cli("train", {experiment, "--out", run, "--quiet"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(json::parse(io::read_text(folder.path("run") / "classes.json")) ==
        json({"whole", "core", "enhancing"}));
  const json metrics = json::parse(io::read_text(folder.path("run") / "summary.json"))["metrics"];
  CHECK(metrics["test"]["pooled_dice"].get<double>() > 50);
  CHECK(metrics["test"].contains("case_dice_core"));
  CHECK_FALSE(metrics["test"].contains("accuracy"));

  const CliResult scored =
      run_cli("eval", {run, "--save", "volumes,probabilities", "--out", scores, "--quiet"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  const json summary = json::parse(io::read_text(folder.path("scores") / "summary.json"));
  const std::set<std::string> keys = {"(1, 2, 5)", "(2, 5)", "5"};
  CHECK(keys_of(summary["mean"]) == keys);
  double mean = 0;
  for (const std::string& key : keys) mean += summary["mean"][key]["Dice"].get<double>() / 3;
  CHECK(summary["foreground_mean"]["Dice"].get<double>() == Approx(mean));
  REQUIRE(summary["metric_per_case"].size() == 2);
  for (const json& one : summary["metric_per_case"]) {
    CHECK(keys_of(one["metrics"]) == keys);
    // By the files that were compared.
    const auto found = data::read_nifti(one["prediction_file"].get<std::string>()).values;
    const auto truth = data::read_nifti(one["reference_file"].get<std::string>()).values;
    REQUIRE(found.size() == truth.size());
    const std::set<float> values(found.begin(), found.end());
    CHECK(std::ranges::includes(std::set<float>{0, 1, 2, 5}, values));
    CHECK(values.size() > 1);
    const std::vector<std::pair<std::string, std::set<float>>> regions = {
        {"(1, 2, 5)", {1, 2, 5}}, {"(2, 5)", {2, 5}}, {"5", {5}}};
    for (const auto& [key, region] : regions) {
      double tp = 0, fp = 0, fn = 0, tn = 0;
      for (std::size_t i = 0; i < truth.size(); ++i) {
        if (truth[i] == 6) continue;
        const bool there = region.contains(truth[i]), here = region.contains(found[i]);
        (there ? (here ? tp : fn) : here ? fp : tn) += 1;
      }
      const json& counts = one["metrics"][key];
      CHECK(counts["TP"] == tp);
      CHECK(counts["FP"] == fp);
      CHECK(counts["FN"] == fn);
      CHECK(counts["TN"] == tn);
      if (tp + fp + fn > 0)
        CHECK(counts["Dice"].get<double>() == Approx(2 * tp / (2 * tp + fp + fn)));
    }
  }
  const json results = json::parse(io::read_text(folder.path("scores") / "results.json"));
  CHECK(results["per_class"].size() == 3);
  CHECK(results["per_class"][0]["class"] == "whole");
  CHECK_FALSE(results.contains("confusion"));
  const std::string samples = io::read_text(folder.path("scores") / "samples.csv");
  CHECK(samples.substr(0, samples.find('\n')) ==
        "index,name,dice,iou,dice_whole,dice_core,dice_enhancing,iou_whole,iou_core,iou_enhancing,"
        "hd95_mm_whole,hd95_mm_core,hd95_mm_enhancing");

  // predict writes what eval does; where no region is likely there is background.
  const std::string name = summary["metric_per_case"][0]["case"];
  const auto image = folder.path("data") / "imagesTr" / (name + ".nii");
  const CliResult predicted = run_cli("predict", {run, image.string(), "--probabilities", "--out",
                                                  folder.path("predicted").string()});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  const auto labels = data::read_nifti(folder.path("predicted") / (name + ".nii.gz")).values;
  CHECK(labels ==
        data::read_nifti(folder.path("scores") / "predicted_volumes" / (name + ".nii.gz")).values);
  const auto prob = [&](const std::string& region) {
    const std::string file = name + "_" + region + ".nii.gz";
    const auto values = data::read_nifti(folder.path("predicted") / file).values;
    CHECK(values ==
          data::read_nifti(folder.path("scores") / "predicted_probabilities" / file).values);
    return values;
  };
  const auto whole = prob("whole"), core = prob("core"), enhancing = prob("enhancing");
  for (std::size_t i = 0; i < labels.size(); ++i)
    REQUIRE(labels[i] == (enhancing[i] > 0.5f ? 5 : core[i] > 0.5f ? 2 : whole[i] > 0.5f ? 1 : 0));

  // Pictures have the labels' colours and the regions' Dice.
  const CliResult drawn = run_cli("visualise-attention",
                                  {run, "--input", "0", "--out", folder.path("pictures").string()});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains(", whole ") && Catch::Contains(", enhancing "));
  const json shown =
      data_of_page(io::read_text(folder.path("pictures") / "volumes-run.html"))["cases"][0];
  CHECK(shown["classes"][1]["name"] == "label 1");
  CHECK_FALSE(shown["classes"][1].contains("dice"));
  CHECK(shown["regions"][1]["name"] == "core");
  CHECK(shown["regions"][1]["dice"].get<double>() ==
        Approx(summary["metric_per_case"][0]["metrics"]["(2, 5)"]["Dice"].get<double>()));

  const CliResult looked = run_cli("inspect", {"dataset", experiment, "--json"});
  REQUIRE(looked.code == 0);
  const json found = json::parse(looked.out);
  CHECK(found["classes"] == json({"background", "label 1", "label 2", "enhancing"}));
  CHECK(found["regions"]["core"] == json({{"labels", {2, 5}}, {"written", 2}}));

  // Other regions are other weights.
  write_region_set(folder.path("data"), 6,
                   R"({"background": 0, "whole": [1, 2, 5], "core": [1, 2], "enhancing": 5,
                       "ignore": 6})");
  check_refusal(run_cli("eval", {run, "--out", scores + "2", "--quiet"}), 1,
                "regions.json: the weights were trained with the regions whole 1+2+5 (written as "
                "1), core 2+5 (written as 2)");
  // So is the same set without any.
  write_region_set(folder.path("data"), 6,
                   R"({"background": 0, "a": 1, "b": 2, "c": 5, "ignore": 6})");
  check_refusal(run_cli("eval", {run, "--out", scores + "2", "--quiet"}), 1,
                "the data set has none");
}

TEST_CASE("regions: one experiment serves a set with regions and without", "[cli]") {
  const TestFolder folder("cli-no-regions");
  write_region_set(folder.path("data"), 4);
  write_region_set(folder.path("plain"), 4,
                   R"({"background": 0, "a": 1, "b": 2, "c": 5, "ignore": 6})");
  write_region_set(folder.path("bad"), 4, kRegionLabels, "[1, 2]");
  for (const char* loss : {"dice_ce", "dice", "nnunet"}) {
    for (const char* data : {"data", "plain"}) {
      CAPTURE(loss, data);
      const std::string out = folder.path(fmt::format("{}-{}", data, loss)).string();
      const CliResult trained =
          run_cli("train", {experiment_on(folder, data), "--out", out, "--quiet", "--set",
                            fmt::format("loss.type={}", loss), "--set", "train.epochs=1"});
      INFO(trained.err);
      REQUIRE(trained.code == 0);
      const json metrics =
          json::parse(io::read_text(io::fs::path(out) / "summary.json"))["metrics"];
      CHECK(metrics["test"].contains("accuracy") == (std::string(data) == "plain"));
    }
  }
  const std::string experiment = experiment_on(folder, "data"), out = folder.path("no").string();
  check_refusal(run_cli("train", {experiment, "--out", out, "--set", "loss.type=cross_entropy"}), 2,
                "loss.type: cross_entropy does not compare regions; choose dice, dice_ce, nnunet");
  check_refusal(
      run_cli("train", {experiment, "--out", out, "--set", "eval.inferer.mean=probabilities"}), 2,
      "eval.inferer.mean: probabilities are of classes");
  check_refusal(run_cli("train", {experiment, "--out", out, "--set", "train.monitor=accuracy"}), 2,
                "train.monitor");
  check_refusal(run_cli("train", {experiment_on(folder, "bad"), "--out", out}), 1,
                "regions_class_order: 2 labels for 3 regions (whole, core, enhancing)");
}
