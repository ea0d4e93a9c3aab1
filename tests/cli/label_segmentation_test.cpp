// The real programs on maps of labels: the smoke experiment, and files with values of their own.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/devices.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tensor/safetensors.h"
#include "tests/cli/lines.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::string smoke(const std::string& name) { return source_dir() + "/experiments/smoke/" + name; }

// Discs of value 50 and squares of value 300 (or 200) on 0, in pictures of different sizes with a
// frame to be ignored.
void write_maps(const io::fs::path& root, int square, int ignored) {
  for (const char* part : {"images", "masks", "splits"}) io::make_directories(root / part);
  std::string train, test;
  for (int n = 0; n < 14; ++n) {
    const int height = 20 + n % 3, width = 24 + n % 2;
    data::Image image{height, width, 3, {}}, map{height, width, 1, {}};
    for (int i = 0; i < height * width; ++i) {
      const int y = i / width, x = i % width;
      const int dy = y - 6 - n % 5, dx = x - 7;
      const bool disc = dy * dy + dx * dx<14, box = y> 8 && y < 15 && x > 13 && x < 13 + n % 4 + 6;
      const bool frame = y == 0 || x == 0;
      const int value = frame ? ignored : disc ? 50 : box ? square : 0;
      if (std::max(square, ignored) > 255) {
        map.deep.push_back(static_cast<std::uint16_t>(value));
      } else {
        map.pixels.push_back(static_cast<std::uint8_t>(value));
      }
      const auto ground = static_cast<std::uint8_t>(30 + (i * 37 + n * 11) % 40);
      image.pixels.insert(image.pixels.end(), {disc ? std::uint8_t{220} : ground,
                                               box ? std::uint8_t{220} : ground, std::uint8_t{90}});
    }
    const std::string name = fmt::format("m{:02}", n);
    data::write_png(root / "images" / (name + ".png"), image);
    data::write_png(root / "masks" / (name + ".png"), map);
    (n < 10 ? train : test) += name + "\n";
  }
  io::write_atomic(root / "splits/train.txt", train);
  io::write_atomic(root / "splits/test.txt", test);
}

std::string experiment(const io::fs::path& root, int square, int ignored) {
  return fmt::format(R"({{"name": "maps", "task": "segmentation", "seed": 1,
  "dataset": {{"type": "paired_folder", "root": "{}", "mask_type": "labels", "img_size": 16,
              "mask_values": [0, 50, {}], "classes": ["background", "disc", "the square"],
              "ignore_value": {}, "augment": ["horizontal_flip"]}},
  "model": {{"type": "unet", "widths": [8, 16], "decoder_channels": [8]}},
  "optimizer": {{"type": "adamw", "lr": 0.02}},
  "train": {{"epochs": 15, "batch_size": 2}}}})",
                     root.string(), square, ignored);
}

std::int64_t pixels_in(const json& confusion) {
  std::int64_t sum = 0;
  for (const json& row : confusion.at("counts")) {
    for (const json& count : row) sum += count.get<std::int64_t>();
  }
  return sum;
}

}  // namespace

TEST_CASE("label segmentation: the smoke experiment learns in seconds, by any threads", "[cli]") {
  const TestFolder folder("cli-labels-smoke");
  const std::string run = folder.path("run").string(), other = folder.path("other").string();
  const CliResult trained = run_cli("train", {smoke("unet_labels.json"), "--out", run, "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json summary = json::parse(trained.out);
  const json& test = summary.at("metrics").at("test");
  CHECK(test.at("pooled_dice") > 75);
  CHECK(test.at("accuracy") > 90);
  const CliResult scored = run_cli("eval", {run, "--json", "--overlays", "8"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  const json result = json::parse(scored.out);
  CHECK(result.at("metrics") == test);
  CHECK(result.at("per_class").size() == 4);
  CHECK(pixels_in(result.at("confusion")) < 24 * 32 * 32);  // edges are ignored
  for (const char* file : {"samples.csv", "cases.csv", "confusion.csv", "confusion.png",
                           "overlays-1.png", "overlays-2.png"})
    CHECK(io::fs::file_size(folder.path("run/eval/test") / file) > 50);
  const CliResult printed = run_cli("eval", {run, "--no-noise", "--overlays", "0"});
  CHECK_THAT(printed.out, Catch::Contains("pooled_dice_cross") && Catch::Contains("pooled_dice "));
  const CliResult noisy =
      run_cli("eval", {run, "--noise", "gaussian", "--level", "0.3", "--overlays", "0", "--json"});
  REQUIRE(noisy.code == 0);
  CHECK(json::parse(noisy.out).at("robustness").at("metric") == "pooled_dice");

  REQUIRE(run_cli("train", {smoke("unet_labels.json"), "--out", other, "--threads", "3", "--set",
                            "train.num_workers=2"})
              .code == 0);
  CHECK(io::read_text(checkpoint_of(run) / "model.safetensors") ==
        io::read_text(checkpoint_of(other) / "model.safetensors"));
  // The same weights seen through windows: nearly the same numbers.
  const CliResult windows = run_cli(
      "eval", {run, "--json", "--overlays", "0", "--set",
               R"(eval.inferer={"type": "sliding_window", "roi_size": [24], "overlap": 0.5})"});
  INFO(windows.err);
  REQUIRE(windows.code == 0);
  const double in_windows = json::parse(windows.out).at("metrics").at("pooled_dice");
  CHECK(in_windows != test.at("pooled_dice").get<double>());
  CHECK(in_windows == Approx(test.at("pooled_dice").get<double>()).margin(8));
}

TEST_CASE("label segmentation: a run that is scored from windows reproduces its numbers", "[cli]") {
  const TestFolder folder("cli-labels-windows");
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {smoke("unet_labels_windows.json"), "--out", run,
                                              "--json", "--set", "train.epochs=1"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const CliResult scored = run_cli("eval", {run, "--json", "--save", "masks"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  CHECK(json::parse(scored.out).at("metrics") == json::parse(trained.out).at("metrics").at("test"));
}

TEST_CASE("label segmentation: predictions leave with the values of the files", "[cli]") {
  const int square = GENERATE(200, 300);
  const int ignored = square == 200 ? 255 : 4000;
  const TestFolder folder("cli-labels-files");
  write_maps(folder.path("maps"), square, ignored);
  const std::string file =
      folder.write("maps.json", experiment(folder.path("maps"), square, ignored));
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {file, "--out", run, "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const CliResult scored = run_cli(
      "eval", {run, "--save", "masks,original_masks,probabilities", "--no-noise", "--json"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  const json result = json::parse(scored.out);
  CHECK(result.at("metrics") == json::parse(trained.out).at("metrics").at("test"));
  CHECK(result.at("metrics").at("pooled_dice") > 50);
  CHECK(result.at("metrics").contains("pooled_dice_the_square"));
  const io::fs::path out = folder.path("run/eval/test");
  const auto samples = lines_of(out / "samples.csv");
  REQUIRE(samples.size() == 5);
  CHECK(samples[0] ==
        "index,name,dice,iou,accuracy,dice_background,dice_disc,dice_the_square,iou_background,"
        "iou_disc,iou_the_square");
  CHECK(lines_of(out / "confusion.csv")[0] == "truth \\ prediction,background,disc,the square");
  CHECK(lines_of(out / "cases.csv")[0] == "index,name,dice_per_image,iou_per_image");

  const TensorFile saved = read_safetensors(out / "probabilities.safetensors", make_cpu(1));
  const Tensor& prob = saved.tensors.at("probabilities");
  REQUIRE(prob.shape() == Shape{4, 3, 16, 16});
  CHECK(json::parse(saved.metadata.at("classes")) ==
        json::array({"background", "disc", "the square"}));
  const std::vector<int> values = {0, 50, square};
  std::set<int> seen;
  for (std::int64_t n = 0; n < 4; ++n) {
    const std::string name = fmt::format("m{}.png", n + 10);
    const auto value_at = [](const data::Image& image, std::size_t i) {
      return image.deep.empty() ? int{image.pixels[i]} : int{image.deep[i]};
    };
    const data::Image mask = data::read_image(out / "predicted_masks" / name);
    REQUIRE((mask.height == 16 && mask.width == 16 && mask.channels == 1));
    CHECK(mask.deep.empty() == (square < 256));
    for (std::size_t p = 0; p < 256; ++p) {
      const float* of_pixel = prob.data<float>() + n * 3 * 256 + p;
      std::size_t best = 0;
      float sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        sum += of_pixel[k * 256];
        if (of_pixel[k * 256] > of_pixel[best * 256]) best = k;
      }
      CHECK(sum == Approx(1));
      CHECK(value_at(mask, p) == values[best]);
      seen.insert(value_at(mask, p));
    }
    // On the grid of its own file, the nearest pixel.
    const data::Image original = data::read_image(out / "predicted_masks_original" / name);
    const data::Image source = data::read_image(folder.path("maps/images") / name);
    REQUIRE((original.height == source.height && original.width == source.width));
    for (std::int64_t y = 0; y < original.height; ++y) {
      for (std::int64_t x = 0; x < original.width; ++x) {
        const auto from_y = static_cast<std::size_t>((2 * y + 1) * 16 / (2 * original.height));
        const auto from_x = static_cast<std::size_t>((2 * x + 1) * 16 / (2 * original.width));
        CHECK(value_at(original, static_cast<std::size_t>(y * original.width + x)) ==
              value_at(mask, from_y * 16 + from_x));
      }
    }
  }
  CHECK(seen == std::set<int>(values.begin(), values.end()));
}

TEST_CASE("label segmentation: a network or loss that does not fit is refused before it trains",
          "[cli]") {
  const TestFolder folder("cli-labels-refused");
  const auto refused = [&](const std::string& set, const std::string& message) {
    for (const char* flag : {"--dry-run", "--quiet"}) {
      const CliResult result = run_cli("train", {smoke("unet_labels.json"), "--out",
                                                 folder.path("run").string(), flag, "--set", set});
      CHECK(result.code == 2);
      CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
      CHECK_THAT(result.err, Catch::Contains(message));
      io::remove_all(folder.path("run"));
    }
  };
  refused("model.num_classes=3", "model.num_classes: 3, but the masks of the data set have 4");
  refused("loss=bce_dice", "loss.type: bce_dice does not compare label maps");
}

TEST_CASE("label segmentation: an ablation has columns for classes that are asked for", "[cli]") {
  const TestFolder folder("cli-labels-ablation");
  folder.write("unet_labels.json", io::read_text(smoke("unet_labels.json")));
  const std::string file =
      folder.write("rows.json", R"({"name": "rows", "base": "unet_labels.json", "seeds": [1],
      "set": {"train.epochs": 1, "dataset.train_size": 8, "dataset.test_size": 4},
      "metrics": ["test_mean_dice", "test_dice_disc"],
      "rows": [{"name": "dice_ce"}, {"name": "cross_entropy",
                "set": {"loss": {"type": "cross_entropy"}}}]})");
  const std::string out = folder.path("sweep").string();
  const CliResult result = run_cli("ablate", {file, "--out", out, "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json rows = json::parse(io::read_text(folder.path("sweep/results.json")));
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].at("metrics").contains("test_pooled_dice_disc"));
  CHECK_THAT(io::read_text(folder.path("sweep/results.md")),
             Catch::Contains("test_pooled_dice_disc (%)"));
}
