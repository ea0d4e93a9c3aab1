// The real programs on a small detector: train, stop and resume, eval, predict, bench.
#include <catch2/catch.hpp>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tensor/safetensors.h"
#include "tests/cli/lines.h"
#include "tests/cli/pictures.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

const std::vector<std::string> kFewSteps = {
    "--set", "train.epochs=2", "--set", "dataset.train_size=24", "--set", "dataset.test_size=6"};

std::vector<std::string> train_command(const TestFolder& folder, const std::string& run) {
  std::vector<std::string> words = {source_dir() + "/experiments/smoke/retinanet.json", "--out",
                                    folder.path(run).string(), "--quiet"};
  words.insert(words.end(), kFewSteps.begin(), kFewSteps.end());
  return words;
}

// A detector with masks, small enough for a few steps in a second.
std::string small_mask_rcnn(const TestFolder& folder) {
  return folder.write("masks.json", R"({
    "name": "masks", "task": "detection",
    "dataset": {"type": "synthetic_boxes", "masks": true, "img_size": 64,
                "train_size": 6, "test_size": 3},
    "model": {"type": "mask_rcnn", "fpn_channels": 8,
              "backbone": {"type": "resnet18", "planes": [4, 4, 4, 4], "depths": [1, 1, 1, 1],
                           "stem_width": 4},
              "rpn": {"feat_channels": 8, "max_per_img": 20, "max_per_img_train": 20},
              "rcnn": {"fc_channels": 16, "head_conv_channels": 8, "num_samples": 16,
                       "score_thr": 0}},
    "train": {"epochs": 1, "batch_size": 3}})");
}

}  // namespace

TEST_CASE("detection: train, stop and resume, eval and predict", "[cli]") {
  const TestFolder folder("cli-detection");
  const CliResult trained = run_cli("train", train_command(folder, "run"));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const std::string run = folder.path("run").string();
  const json summary = json::parse(io::read_text(folder.path("run") / "summary.json"));
  for (const char* name : {"ap", "ap50", "ap_large", "ar100", "ap_disc"})
    CHECK(summary["metrics"]["test"].contains(name));

  int kills = 0;
  CliResult last{};
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::vector<std::string> words = train_command(folder, "killed");
    words.insert(words.end(), {"--set", "train.checkpoint_every_steps=1"});
    if (io::fs::exists(folder.path("killed/config.json"))) words.emplace_back("--resume");
    const double wait = kills < 2 ? 0.3 + 0.2 * attempt : 0;
    last = run_cli("train", words, {.signal_after_s = wait, .signal = SIGKILL});
    if (last.code == 0) break;
    if (last.code != 128 + SIGKILL) FAIL(last.err);
    ++kills;
  }
  REQUIRE(last.code == 0);
  CHECK(io::read_text(checkpoint_of(folder.path("run")) / "model.safetensors") ==
        io::read_text(checkpoint_of(folder.path("killed")) / "model.safetensors"));

  const CliResult scored =
      run_cli("eval", {run, "--save", "boxes.json,truth.json", "--overlays", "2"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  CHECK_THAT(scored.out, Catch::Contains("ap50") && Catch::Contains("missed"));
  const io::fs::path report = folder.path("run/eval/test");
  for (const char* name : {"detections.csv", "classes.csv", "precision_recall.csv",
                           "precision_recall.png", "overlays-1.png", "boxes.json"})
    CHECK(io::fs::exists(report / name));
  const json results = json::parse(io::read_text(report / "results.json"));
  CHECK(results["metrics"]["ap"] == summary["metrics"]["test"]["ap"]);
  CHECK(results["per_class"].size() == 3);
  CHECK(results["errors"].contains("missed"));
  const json truth = json::parse(io::read_text(report / "truth.json"));
  CHECK(truth["images"].size() == 6);
  CHECK(truth["categories"][0]["id"] == 1);
  CHECK(truth["annotations"][0]["bbox"].size() == 4);
  CHECK(truth["annotations"][0]["id"] == 1);
  check_refusal(run_cli("eval", {run, "--save", "masks.json"}), 2, "known: boxes.json, truth.json");

  CHECK(io::fs::exists(report / "errors.png"));

  data::Image picture{40, 50, 3, {}};
  picture.pixels.assign(40 * 50 * 3, 90);
  data::write_png(folder.path("scene.png"), picture);
  const CliResult predicted = run_cli("predict", {run, folder.path("scene.png").string(), "--out",
                                                  folder.path("out").string(), "--quiet"});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  CHECK_THAT(io::read_text(folder.path("out") / "predictions.csv"),
             Catch::StartsWith("name,file,class,class_index,score,x,y,width,height\n"));
  CHECK(json::parse(io::read_text(folder.path("out") / "boxes.json")).is_array());
  const data::Image drawn = data::read_image(folder.path("out") / "scene.png", 3);
  CHECK(drawn.width == 50 * (drawn.height / 40));
}

TEST_CASE("detection: masks are learned, scored, saved and drawn", "[cli]") {
  const TestFolder folder("cli-detection-masks");
  const std::string experiment = small_mask_rcnn(folder);
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {experiment, "--out", run, "--quiet"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const CliResult scored = run_cli("eval", {run, "--save", "masks.json", "--json"});
  REQUIRE(scored.code == 0);
  CHECK(json::parse(scored.out)["metrics"].contains("mask_ap"));
  const json masks = json::parse(io::read_text(folder.path("run/eval/test") / "masks.json"));
  REQUIRE(!masks.empty());
  CHECK(masks[0]["segmentation"]["size"].size() == 2);
  CHECK(masks[0]["segmentation"]["counts"].is_string());
  data::Image picture{20, 30, 3, {}};
  picture.pixels.assign(20 * 30 * 3, 90);
  data::write_png(folder.path("scene.png"), picture);
  REQUIRE(run_cli("predict", {run, folder.path("scene.png").string(), "--out",
                              folder.path("out").string(), "--quiet"})
              .code == 0);
  const json found = json::parse(io::read_text(folder.path("out") / "masks.json"));
  REQUIRE(!found.empty());
  CHECK(found[0]["segmentation"]["size"] == json({20, 30}));
  CHECK_THAT(io::read_text(folder.path("out") / "predictions.csv"),
             Catch::Contains(",height,mask_area\n"));
  check_refusal(run_cli("train", {experiment, "--out", folder.path("none").string(), "--set",
                                  "dataset.masks=false", "--quiet"}),
                2, "dataset.masks");
}

TEST_CASE("visualise-attention: detections, and where their places look", "[cli]") {
  const TestFolder folder("cli-detection-pictures");
  std::vector<std::string> runs;
  const auto train = [&](const std::string& name, const std::string& backbone) {
    runs.push_back(folder.path(name).string());
    std::vector<std::string> words = train_command(folder, name);
    // Hardly trained, so that few scores are above any threshold.
    words.insert(words.end(),
                 {"--set", "model.backbone=" + backbone, "--set", "model.score_thr=0"});
    const CliResult trained = run_cli("train", words);
    INFO(trained.err);
    REQUIRE(trained.code == 0);
  };
  train("mavit", R"({"type": "mavit_t", "embed_dims": [8, 16, 24, 32], "depths": [1, 1, 1, 1],
                     "num_heads": [1, 2, 3, 4]})");
  train("kcla", R"({"type": "resnet18", "planes": [16, 32, 64, 64], "depths": [1, 2, 1, 1],
                    "stem_width": 16, "layer_attention": {"type": "kcla", "head_dim": 8}})");
  const auto draw = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--least-score", "0", "--out", folder.path("out").string()});
    const CliResult drawn = run_cli("visualise-attention", words);
    INFO(drawn.err);
    REQUIRE(drawn.code == 0);
    return drawn;
  };
  const CliResult both = draw({runs[0], runs[1], "--input", "0", "--input", "2", "--best", "2"});
  CHECK_THAT(both.err, Catch::Contains("kcla: weights of layers hold for the whole image"));
  for (const char* name : {"detections-mavit.png", "detections-kcla.png"})
    CHECK(is_png_file(folder.path("out") / name));
  const std::string csv = io::read_text(folder.path("out/detections.csv"));
  CHECK_THAT(csv, Catch::StartsWith("run,input,detection,class,score,x1,y1,x2,y2,stride,layer\n") &&
                      Catch::Contains(",backbone.layers."));
  const TensorFile maps = read_safetensors(folder.path("out/maps.safetensors"), cpu());
  std::size_t of_tokens = 0, of_layers = 0;
  for (const auto& [name, map] : maps.tensors) {
    if (name.starts_with("mavit/")) {
      ++of_tokens;
      CHECK(map.rank() == 3);
    } else {
      ++of_layers;
      CHECK(map.rank() == 2);
    }
  }
  CHECK(of_tokens == 4);
  CHECK(of_layers == 4);
  CHECK_THAT(io::read_text(folder.path("out/explorer.html")),
             Catch::Contains("Detection explorer"));

  // Any picture file, a chosen layer, and no page.
  data::Image picture{40, 50, 3, {}};
  picture.pixels.assign(40 * 50 * 3, 90);
  data::write_png(folder.path("scene.png"), picture);
  io::fs::remove_all(folder.path("out"));
  const CliResult one =
      draw({runs[0], "--figure", "detections", "--input", folder.path("scene.png").string(),
            "--layer", "1", "--detection", "0,1,999", "--no-explorer", "--smooth"});
  CHECK_THAT(one.err, Catch::Contains("--detection 999: in scene mavit found"));
  CHECK_THAT(io::read_text(folder.path("out/detections.csv")),
             Catch::Contains(",backbone.layers.1.blocks.0\n"));
  CHECK_FALSE(io::fs::exists(folder.path("out/explorer.html")));
  // Figures of pixels know detectors too.
  draw({runs[0], "--figure", "grid_rollout", "--input", "0"});
  draw({runs[0], "--figure", "pca", "--input", "0"});
  check_refusal(run_cli("visualise-attention", {runs[0], "--layer", "layers.9", "--least-score",
                                                "0", "--out", folder.path("none").string()}),
                2, "--layer layers.9: mavit has no such layer");
}

TEST_CASE("visualise-attention: a detector with masks and without attention", "[cli]") {
  const TestFolder folder("cli-detection-masks-pictures");
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {small_mask_rcnn(folder), "--out", run, "--quiet"}).code == 0);
  const CliResult drawn = run_cli(
      "visualise-attention", {run, "--least-score", "0", "--out", folder.path("out").string()});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.err, Catch::Contains("no attention over tokens and no weights of layers"));
  CHECK(is_png_file(folder.path("out/detections-run.png")));
  CHECK(io::fs::exists(folder.path("out/explorer.html")));
  check_refusal(run_cli("visualise-attention",
                        {run, "--figure", "predictions", "--out", folder.path("none").string()}),
                2, "figures that fit it: detections");
}

TEST_CASE("detection: inspect, profile and bench", "[cli]") {
  const TestFolder folder("cli-detection-costs");
  const std::string experiment = small_mask_rcnn(folder);
  const CliResult inspected = run_cli("inspect", {experiment, "--json"});
  INFO(inspected.err);
  REQUIRE(inspected.code == 0);
  CHECK(json::parse(inspected.out)["parameters"] > 0);
  CHECK(json::parse(inspected.out)["macs"] > 0);
  CHECK(run_cli("inspect", {experiment, "--profile"}).code == 0);
  const CliResult timed = run_cli("bench", {experiment, "--steps", "1", "--json"});
  INFO(timed.err);
  REQUIRE(timed.code == 0);
  CHECK(json::parse(timed.out)["samples_per_s"] > 0);
}
