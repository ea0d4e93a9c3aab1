// The real programs on a small made-up set of images with masks.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backend/devices.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tensor/safetensors.h"
#include "tests/support/run_cli.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// Bright discs on noise: 12 to train on, 4 to test.
void write_discs(const io::fs::path& root) {
  for (const char* part : {"images", "masks", "splits"}) io::make_directories(root / part);
  std::string train, test;
  for (int n = 0; n < 16; ++n) {
    data::Image image{20, 24, 3, {}}, mask{20, 24, 1, {}};
    for (int i = 0; i < 20 * 24; ++i) {
      const int dy = i / 24 - 6 - n % 8;
      const int dx = i % 24 - 8 - n % 7;
      const bool inside = dy * dy + dx * dx < 20;
      mask.pixels.push_back(inside ? 255 : 0);
      const int ground = 30 + (i * 37 + n * 11) % 50;
      image.pixels.insert(image.pixels.end(), {static_cast<std::uint8_t>(inside ? 210 : ground),
                                               static_cast<std::uint8_t>(ground), 90});
    }
    const std::string name = fmt::format("disc{:02}", n);
    data::write_png(root / "images" / (name + ".png"), image);
    data::write_png(root / "masks" / (name + ".png"), mask);
    (n < 12 ? train : test) += name + "\n";
  }
  io::write_atomic(root / "splits/train.txt", train);
  io::write_atomic(root / "splits/test.txt", test);
}

std::string experiment(const io::fs::path& root) {
  return fmt::format(
      R"({{"name": "discs", "task": "segmentation", "seed": 1,
  "dataset": {{"type": "paired_folder", "root": "{}", "img_size": 16, "intensity": "min_max_255",
              "augment": ["horizontal_flip", "vertical_flip", "random_rotation"]}},
  "model": {{"type": "resnet_unet", "backbone": {{"stem_width": 4, "depths": [1, 1], "planes": [4, 8],
            "strides": [2, 1]}}, "decoder_channels": [4, 4]}},
  "loss": {{"type": "bce_dice"}}, "optimizer": {{"type": "adamw", "lr": 0.02}},
  "train": {{"epochs": 8, "batch_size": 4, "select": "best", "select_on": "test"}}}})",
      root.string());
}

}  // namespace

TEST_CASE("segmentation: train, eval, inspect and resume", "[cli]") {
  const TestFolder folder("cli-segmentation");
  write_discs(folder.path("discs"));
  const std::string file = folder.write("discs.json", experiment(folder.path("discs")));
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {file, "--out", run, "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json summary = json::parse(trained.out);
  CHECK(summary.at("metrics").at("test").at("pooled_dice") > 50);
  CHECK(summary.at("best").at("metric") == "pooled_dice");  // as of maps of labels
  const CliResult planned = run_cli("train", {file, "--dry-run"});
  CHECK_THAT(planned.out, Catch::Contains("best, by the highest test pooled_dice"));

  // The best weights give the logged numbers again.
  const CliResult scored =
      run_cli("eval", {run, "--checkpoint", "best", "--overlays", "3", "--json"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  const json result = json::parse(scored.out);
  CHECK(result.at("samples") == 4);
  CHECK(result.at("metrics") == summary.at("metrics").at("test"));
  const json& pixels = result.at("pixels");
  const double tp = pixels.at("true_positives"), fp = pixels.at("false_positives"),
               fn = pixels.at("false_negatives");
  CHECK(result.at("metrics").at("pooled_iou") == Approx(100 * tp / (tp + fp + fn)));
  CHECK(result.at("images_without_foreground").at("in_truth") == 0);
  CHECK(io::fs::file_size(folder.path("run/eval/test/overlays-1.png")) > 1000);
  CHECK_FALSE(io::fs::exists(folder.path("run/eval/test/overlays-2.png")));
  const std::string samples = io::read_text(folder.path("run/eval/test/samples.csv"));
  CHECK(std::count(samples.begin(), samples.end(), '\n') == 5);
  const std::string cases = io::read_text(folder.path("run/eval/test/cases.csv"));
  CHECK(cases.starts_with("index,name,dice_per_image,iou_per_image\n"));
  CHECK(result.at("cases").at("dice_per_image").size() == 4);

  const CliResult noisy =
      run_cli("eval", {run, "--noise", "gaussian", "--level", "0.3", "--overlays", "0", "--json",
                       "--out", folder.path("noisy").string()});
  REQUIRE(noisy.code == 0);
  CHECK(json::parse(noisy.out).at("robustness").at("metric") == "pooled_dice");
  REQUIRE(run_cli("eval", {run, "--noise", "gaussian", "--level", "0.3", "--overlays", "0"}).code ==
          0);
  const CliResult robust =
      run_cli("inspect", {"robustness", run, "--out", folder.path("r.svg").string()});
  INFO(robust.err);
  CHECK(robust.code == 0);
  CHECK_THAT(robust.out, Catch::Contains("pooled_dice (%)"));

  const CliResult inspected = run_cli("inspect", {file, "--json"});
  REQUIRE(inspected.code == 0);
  CHECK(json::parse(inspected.out).at("parameters") == summary.at("parameters"));
  CHECK(run_cli("inspect", {file, "--profile", "--json"}).code == 0);

  // The same bytes for other threads and loaders.
  const std::string other = folder.path("other").string();
  REQUIRE(run_cli("train", {file, "--out", other, "--threads", "3", "--set", "train.num_workers=2"})
              .code == 0);
  CHECK(io::read_text(checkpoint_of(run) / "model.safetensors") ==
        io::read_text(checkpoint_of(other) / "model.safetensors"));
}

TEST_CASE("segmentation: masks of 0 and 1 train to the same weights", "[cli]") {
  const TestFolder folder("cli-segmentation-ones");
  write_discs(folder.path("discs"));
  const std::string file = folder.write("discs.json", experiment(folder.path("discs")));
  const auto train = [&](const std::string& out) {
    const CliResult result = run_cli(
        "train", {file, "--out", folder.path(out).string(), "--json", "--set", "train.epochs=2"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    return json::parse(result.out).at("metrics");
  };
  const json white = train("white");
  for (const auto& entry : io::fs::directory_iterator(folder.path("discs/masks"))) {
    data::Image mask = data::read_image(entry.path());
    for (std::uint8_t& value : mask.pixels) value = value > 0 ? 1 : 0;
    data::write_png(entry.path(), mask);
  }
  CHECK(train("ones") == white);
  // A part without foreground: not one line of numbers, but what was found.
  for (int n = 12; n < 16; ++n) {
    data::write_png(folder.path("discs/masks") / fmt::format("disc{:02}.png", n),
                    {20, 24, 1, std::vector<std::uint8_t>(20 * 24, 0)});
  }
  const CliResult refused = run_cli("eval", {folder.path("ones").string()});
  CHECK(refused.code == 1);
  CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  CHECK_THAT(refused.err, Catch::Contains("masks of test hold no foreground") &&
                              Catch::Contains("0 (100 % of the pixels) in 4 files"));
}

TEST_CASE("segmentation: mixed precision learns as well", "[cli]") {
  const TestFolder folder("cli-segmentation-mixed");
  write_discs(folder.path("discs"));
  const std::string file = folder.write("discs.json", experiment(folder.path("discs")));
  const CliResult trained = run_cli("train", {file, "--out", folder.path("run").string(), "--json",
                                              "--set", "train.precision=bfloat16"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(json::parse(trained.out).at("metrics").at("test").at("pooled_dice") > 50);
}

TEST_CASE("segmentation: an ablation over networks", "[cli]") {
  const TestFolder folder("cli-segmentation-ablation");
  write_discs(folder.path("discs"));
  folder.write("discs.json", experiment(folder.path("discs")));
  const std::string file = folder.write(
      "rows.json", R"({"name": "rows", "base": "discs.json", "set": {"train.epochs": 1},
      "seeds": [1], "metrics": ["test_iou_pooled", "test_dsc"],
      "rows": [{"name": "ResNet-UNet"},
               {"name": "UNet", "set": {"model": {"type": "unet", "widths": [2, 4],
                                                  "decoder_channels": [2]}}}]})");
  const CliResult result =
      run_cli("ablate", {file, "--out", folder.path("sweep").string(), "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json rows = json::parse(io::read_text(folder.path("sweep/results.json")));
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].at("metrics").contains("test_pooled_dice"));  // asked for by their older names
  CHECK(rows[1].at("metrics").contains("test_pooled_iou"));
}

TEST_CASE("segmentation: bad data is refused with one line", "[cli]") {
  const TestFolder folder("cli-segmentation-bad");
  write_discs(folder.path("discs"));
  const std::string file = folder.write("discs.json", experiment(folder.path("discs")));
  const auto refused = [&](const std::string& message, const std::vector<std::string>& set = {}) {
    std::vector<std::string> arguments = {file, "--out", folder.path("run").string(), "--quiet"};
    for (const std::string& value : set) arguments.insert(arguments.end(), {"--set", value});
    const CliResult result = run_cli("train", arguments);
    CHECK(result.code != 0);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK_THAT(result.err, Catch::Contains(message));
    io::remove_all(folder.path("run"));
  };
  refused("cross_entropy does not compare masks", {"loss={\"type\": \"cross_entropy\"}"});
  refused("needs a data set of images; dataset.type paired_folder holds images with masks",
          {"task=image_classification"});
  refused("needs a dense network; model.type vit is an image classifier",
          {R"(model={"type": "vit", "img_size": 16, "patch_size": 4})"});
  refused("images with masks or images with maps of labels; dataset.type synthetic holds images",
          {R"(dataset={"type": "synthetic"})"});
  io::write_atomic(folder.path("discs/masks/disc03.png"), "no picture");
  refused("disc03.png");
  io::remove_all(folder.path("discs/masks/disc03.png"));
  refused("disc03.png: has no mask");
  io::remove_all(folder.path("discs/images"));
  refused("images: not found");
}

TEST_CASE("segmentation: a run begins with weights of its backbone and needs their file no more",
          "[cli]") {
  const TestFolder folder("cli-segmentation-weights");
  write_discs(folder.path("discs"));
  const std::string file = folder.write("discs.json", experiment(folder.path("discs")));
  const std::string given = folder.path("backbone.safetensors").string();
  const auto train = [&](const std::string& out, const std::vector<std::string>& set) {
    std::vector<std::string> words = {file, "--out", folder.path(out).string(), "--set",
                                      "train.epochs=0"};
    for (const std::string& value : set) words.insert(words.end(), {"--set", value});
    return run_cli("train", words);
  };
  // The encoder of another seed, and a head that it does not have.
  REQUIRE(train("first", {"seed=7"}).code == 0);
  const auto weights_of = [&](const std::string& run) {
    return read_safetensors(checkpoint_of(folder.path(run)) / "model.safetensors", make_cpu(1))
        .tensors;
  };
  TensorFile backbone;
  for (const auto& [name, tensor] : weights_of("first")) {
    if (name.starts_with("encoder.")) backbone.tensors[name.substr(8)] = tensor;
  }
  const std::size_t tensors = backbone.tensors.size();
  backbone.tensors["fc.weight"] = Tensor::from<float>({1, 2}, {2}, make_cpu(1));
  write_safetensors(given, backbone);

  const CliResult trained = train("run", {"model.backbone.weights=" + given});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK_THAT(io::read_text(folder.path("run/log.txt")),
             Catch::Contains(fmt::format("{} tensors of {}; left out fc.weight", tensors, given)));
  const auto begun = weights_of("run");
  for (const auto& [name, tensor] : backbone.tensors) {
    if (name == "fc.weight") continue;
    INFO(name);
    CHECK(to_doubles(begun.at("encoder." + name)) == to_doubles(tensor));
  }
  io::remove_all(given);
  CHECK(run_cli("eval", {folder.path("run").string(), "--overlays", "0"}).code == 0);
  CHECK(run_cli("train", {"--resume", "--out", folder.path("run").string()}).code == 0);
  const CliResult missing = train("none", {"model.backbone.weights=" + given});
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, Catch::Contains("backbone.safetensors"));
}

TEST_CASE("segmentation: a network that is one value a channel wide trains in batches of two",
          "[cli]") {
  const TestFolder folder("cli-segmentation-narrow");
  write_discs(folder.path("discs"));
  json narrow = json::parse(experiment(folder.path("discs")));
  narrow["model"] = {{"type", "unet"}};  // 16 halved four times
  narrow["train"] = {{"epochs", 1}, {"batch_size", 2}};
  const std::string file = folder.write("narrow.json", narrow.dump());
  const CliResult trained = run_cli("train", {file, "--out", folder.path("run").string()});
  INFO(trained.err);
  CHECK(trained.code == 0);
}

TEST_CASE("segmentation: patches of pictures of any size, scored and predicted by windows",
          "[cli]") {
  const TestFolder folder("cli-segmentation-patches");
  write_discs(folder.path("discs"));
  // One of another shape, and one that is lower than a patch.
  const auto replace = [&](const std::string& name, std::int64_t height, std::int64_t width) {
    data::Image image{height, width, 3, {}}, mask{height, width, 1, {}};
    for (std::int64_t i = 0; i < height * width; ++i) {
      const bool inside = i / width < 8 && i % width < 8;
      mask.pixels.push_back(inside ? 255 : 0);
      image.pixels.insert(image.pixels.end(),
                          {static_cast<std::uint8_t>(inside ? 210 : 60), std::uint8_t{60}, 90});
    }
    data::write_png(folder.path("discs/images/" + name + ".png"), image);
    data::write_png(folder.path("discs/masks/" + name + ".png"), mask);
  };
  replace("disc03", 31, 18);
  replace("disc13", 13, 40);
  std::string patches = experiment(folder.path("discs"));
  const std::string squares = R"("img_size": 16)";
  patches.replace(patches.find(squares), squares.size(),
                  R"("patch_size": [16, 16], "foreground": 0.5, "spacing": [0.5, 0.25])");
  const std::string whole = folder.write("whole.json", patches);
  patches.insert(1, R"("eval": {"metrics": ["hd95", "hd95_mm"],
      "inferer": {"type": "sliding_window", "roi_size": [16], "overlap": 0.5}}, )");
  const std::string file = folder.write("patches.json", patches);
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {file, "--out", run, "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json metrics = json::parse(trained.out).at("metrics").at("test");
  CHECK(metrics.at("pooled_dice") > 50);
  CHECK(metrics.at("hd95_mm") > 0);
  CHECK(metrics.at("hd95_mm") < metrics.at("hd95"));  // pixels are smaller than a millimetre
  const CliResult scored = run_cli("eval", {run, "--out", folder.path("scores").string()});
  REQUIRE(scored.code == 0);
  CHECK_THAT(scored.out, Catch::Contains("hd95_mm") && !Catch::Contains("lengths are in pixels"));
  const CliResult predicted =
      run_cli("predict", {run, folder.path("discs/images/disc13.png").string(), "--out",
                          folder.path("found").string()});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  const data::Image found = data::read_image(folder.path("found/disc13.png"));
  CHECK(found.height == 13);
  CHECK(found.width == 40);
  // Without windows this network takes pictures of any size; another one is refused before it is
  // trained.
  REQUIRE(
      run_cli("train", {whole, "--out", folder.path("whole").string(), "--set", "train.epochs=1"})
          .code == 0);
  const CliResult refused =
      run_cli("train", {whole, "--out", folder.path("no").string(), "--set",
                        R"(model={"type": "pvt_gdla", "backbone": {"type": "pvt_v2_b0"}})", "--set",
                        "dataset.patch_size=[32, 32]"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("eval.inferer: the network cannot take whole pictures") &&
                              Catch::Contains("expected sliding_window"));
}
