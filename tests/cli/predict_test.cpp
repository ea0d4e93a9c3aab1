// predict on pictures: classes, and masks at their own size.
#include <catch2/catch.hpp>

#include "base/file.h"
#include "data/image_file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("predict: classes of pictures", "[cli]") {
  const TestFolder folder("cli-predict-classes");
  const std::string experiment =
      folder.write("tiny.json", R"({
    "name": "tiny", "dataset": {"type": "digits", "root": ")" +
                                    (source_dir() + "/datasets/digits") +
                                    R"(", "limit": {"train": 40, "test": 10}},
    "model": {"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
              "attention": {"num_heads": 2}},
    "train": {"epochs": 1, "batch_size": 20}})");
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  data::Image picture{8, 8, 1, {}};
  picture.pixels.assign(64, 100);
  io::make_directories(folder.path("pictures"));
  data::write_png(folder.path("pictures") / "grey.png", picture);
  const std::string out = folder.path("out").string();
  const CliResult predicted =
      run_cli("predict", {run, folder.path("pictures").string(), "--out", out, "--quiet"});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  const std::string table = io::read_text(folder.path("out") / "predictions.csv");
  CHECK_THAT(table,
             Catch::StartsWith("name,file,label,probability,0,1,2") && Catch::Contains("\ngrey,"));
}

TEST_CASE("predict: masks lie on the grid of the picture", "[cli]") {
  const TestFolder folder("cli-predict-masks");
  const std::string experiment = folder.write("tiny.json", R"({
    "name": "tiny", "task": "segmentation",
    "dataset": {"type": "synthetic_segmentation", "num_classes": 3, "img_size": 16,
                "train_size": 8, "test_size": 4},
    "model": {"type": "unet", "widths": [4, 8], "decoder_channels": [4]},
    "train": {"epochs": 1, "batch_size": 4}})");
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
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
  check_refusal(run_cli("predict", {run, "--out", folder.path("b").string()}), 2, "INPUT");
}
