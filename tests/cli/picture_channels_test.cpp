// Pictures with a file for each channel, in nnU-Net's folders: init, train, predict.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/cli/pictures.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// A square that is bright in channel 0 and dark in channel 1; of a mask 1.
data::Image channel(std::int64_t height, std::int64_t width, int n, int kind) {
  data::Image image{height, width, 1, {}};
  for (std::int64_t i = 0; i < height * width; ++i) {
    const std::int64_t row = i / width, column = i % width;
    const bool square = row >= 6 + n % 4 && row < 20 && column >= 5 && column < 18;
    const int value = kind == 2 ? (square ? 1 : 0) : (square == (kind == 0) ? 200 : 60) + n % 7;
    image.pixels.push_back(static_cast<std::uint8_t>(value));
  }
  return image;
}

void write(const TestFolder& folder, const std::string& name, const data::Image& image) {
  folder.write(name, data::encode_png(image));
}

}  // namespace

TEST_CASE("init masks: channels in files of their own, and patches of pictures of several sizes",
          "[cli]") {
  const TestFolder folder("cli-picture-channels");
  for (int n = 0; n < 20; ++n) {
    const std::int64_t height = 32 + n % 3 * 8, width = 48;
    const std::string name = fmt::format("scene{}", n + 10);
    write(folder, "data/imagesTr/" + name + "_0000.png", channel(height, width, n, 0));
    write(folder, "data/imagesTr/" + name + "_0001.png", channel(height, width, n, 1));
    write(folder, "data/labelsTr/" + name + ".png", channel(height, width, n, 2));
  }
  folder.write("data/dataset.json", R"({"channel_names": {"0": "visible", "1": "infrared"},
                                        "labels": {"background": 0, "square": 1}})");
  const std::string experiment = folder.path("own.json").string();
  const CliResult begun =
      run_cli("init", {"masks", folder.path("data").string(), "--out", experiment});
  INFO(begun.out << begun.err);
  REQUIRE(begun.code == 0);
  const std::string written = io::read_text(experiment);
  CHECK_THAT(written, Catch::Contains(R"("channels": ["visible", "infrared"])") &&
                          Catch::Contains(R"("patch_size": )") &&
                          Catch::Contains(R"("roi_size": )") && !Catch::Contains(R"("img_size")"));
  const std::string run = folder.path("run").string(), out = folder.path("out").string();
  const CliResult trained =
      run_cli("train", {experiment, "--out", run, "--quiet", "--set", "train.epochs=1"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  io::fs::create_directories(folder.path("own"));
  for (const int c : {0, 1})
    write(folder, fmt::format("own/new_000{}.png", c), channel(30, 50, 3, c));
  write(folder, "own/half_0000.png", channel(30, 50, 3, 0));
  io::fs::remove_all(folder.path("data"));
  const CliResult predicted = run_cli("predict", {run, folder.path("own").string(), "--out", out});
  CHECK(predicted.code == 1);  // one of them has no second channel
  CHECK_THAT(predicted.err, Catch::Contains("half_0001.png: not found; expected channel 1 "
                                            "(infrared)"));
  const data::Image mask = data::read_image(folder.path("out/new.png"), 1);
  CHECK(mask.height == 30);
  CHECK(mask.width == 50);
  const CliResult drawn =
      run_cli("visualise-attention",
              {run, "--figure", "pca", "--input", folder.path("own/new_0000.png").string(), "--out",
               folder.path("pictures").string()});
  INFO(drawn.err);
  CHECK(drawn.code == 0);
  CHECK_THAT(drawn.err, Catch::Contains("pictures show the first of 2 channels, visible"));
}
