// Pictures whose channels lie in files of their own, read and as samples.
#include "data/images/channel_pictures.h"

#include <catch2/catch.hpp>

#include <numeric>

#include "base/error.h"
#include "data/given/given_samples.h"
#include "data/loader.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/support/paths.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

Image grey_picture(std::int64_t height, std::int64_t width, std::uint8_t first) {
  Image image{height, width, 1, {}};
  for (std::int64_t i = 0; i < height * width; ++i)
    image.pixels.push_back(static_cast<std::uint8_t>(first + i));
  return image;
}

const std::vector<std::string> kTwoChannels = {"visible", "infrared"};

// Four pairs of 8 x 8 pixels, two channels each.
void write_channel_pairs(const Folder& folder) {
  for (int n = 0; n < 4; ++n) {
    const std::string name = "scene" + std::to_string(n);
    const auto shift = static_cast<std::uint8_t>(10 * n);
    folder.write("images/" + name + "_0000.png", encode_png(grey_picture(8, 8, shift)));
    folder.write("images/" + name + "_0001.png",
                 encode_png(grey_picture(8, 8, static_cast<std::uint8_t>(100 + shift))));
    Image mask{8, 8, 1, {}};
    for (int i = 0; i < 64; ++i) mask.pixels.push_back(i % 8 < 4 ? 255 : 0);
    folder.write("masks/" + name + ".png", encode_png(mask));
  }
}

std::shared_ptr<const ImageDataset> open_channels(const Folder& folder, Split split,
                                                  const std::string& more) {
  return make_images(component("paired_folder", folder.path, more), split);
}

}  // namespace

TEST_CASE("channel pictures: files by their numbers, whichever is given", "[data]") {
  using Files = std::vector<std::filesystem::path>;
  CHECK(channel_files("a/b_0001.png", 2) == Files{"a/b_0000.png", "a/b_0001.png"});
  CHECK(channel_files("a/b.tif", 2) == Files{"a/b.tif"});
}

TEST_CASE("channel pictures: channels side by side, of 16 bits where one has them", "[data]") {
  const Folder folder;
  const auto first = folder.write("a_0000.png", encode_png(grey_picture(2, 3, 5)));
  const auto second = folder.write("a_0001.png", encode_png(grey_picture(2, 3, 50)));
  for (const auto& file : {first, second}) {
    const Image image = read_channels(file, kTwoChannels, Exif::kIgnore);
    CHECK(image.channels == 2);
    CHECK(image.pixels == std::vector<std::uint8_t>{5, 50, 6, 51, 7, 52, 8, 53, 9, 54, 10, 55});
  }
  Image deep{2, 3, 1, {}};
  deep.deep = {0, 1, 2, 3, 4, 65535};
  folder.write("a_0001.png", encode_png(deep));
  const Image mixed = read_channels(first, kTwoChannels, Exif::kIgnore);
  CHECK(mixed.pixels.empty());
  CHECK(mixed.deep == std::vector<std::uint16_t>{5 * 257, 0, 6 * 257, 1, 7 * 257, 2, 8 * 257, 3,
                                                 9 * 257, 4, 10 * 257, 65535});
  CHECK_THROWS_WITH(read_channels(first, {"r", "g", "b"}, Exif::kIgnore),
                    Catch::Contains("a_0002.png: not found; expected channel 2 (b)"));
  folder.write("a_0001.png", encode_png(grey_picture(3, 2, 0)));
  CHECK_THROWS_WITH(read_channels(first, kTwoChannels, Exif::kIgnore),
                    Catch::Contains("a_0001.png: is 3 x 2, channel 0 of the picture is 2 x 3"));
  const auto single = folder.write("b.png", encode_png(grey_picture(2, 3, 0)));
  CHECK_THROWS_WITH(read_channels(single, kTwoChannels, Exif::kIgnore),
                    Catch::EndsWith("b.png: is one picture; expected a TIFF of 2 pages"));
}

TEST_CASE("channel pictures: pages of a TIFF are channels", "[data]") {
  // Both pages are the same; Pillow gives these values.
  const std::string pages = fovea::test::source_dir() + "/tests/fixtures/pictures/pages.tif";
  const Image image = read_channels(pages, kTwoChannels, Exif::kIgnore);
  CHECK(image.height == 13);
  CHECK(image.width == 17);
  CHECK(image.channels == 2);
  REQUIRE(image.pixels.size() == 2 * 13 * 17);
  CHECK(std::vector<int>(image.pixels.begin(), image.pixels.begin() + 6) ==
        std::vector<int>{0, 0, 7, 7, 14, 14});
  CHECK(image.pixels[2 * 17] == 19);
  CHECK(std::accumulate(image.pixels.begin(), image.pixels.end(), 0) == 2 * 28354);
  CHECK_THROWS_WITH(read_channels(pages, {"a", "b", "c"}, Exif::kIgnore),
                    Catch::EndsWith("pages.tif: is a TIFF of 2 pages; expected 3, one for each "
                                    "channel"));
}

TEST_CASE("channel pictures: samples have a channel for each name, each by its own mean",
          "[data]") {
  const Folder folder;
  write_channel_pairs(folder);
  const std::string keys =
      R"("channels": ["visible", "infrared"], "split": {"test": 0.25}, "mean": [0.1, 0.2],
         "std": [0.5, 0.25])";
  const auto train = open_channels(folder, Split::kTrain, keys);
  CHECK(train->size() == 3);
  CHECK(train->channels() == 2);
  CHECK(train->channel_names() == kTwoChannels);
  const auto test_part = open_channels(folder, Split::kTest, keys);
  REQUIRE(test_part->size() == 1);
  const Sample sample = test_part->get(0);
  REQUIRE(sample.at("image").shape() == Shape{2, 8, 8});
  const auto values = sample.at("image").values<float>();
  CHECK(values[64] - values[0] == Approx(100.0 / 255));
  // A file that belongs to no data set, prepared as the samples are.
  const auto given = given_pictures(*test_part, {folder.path / "images/scene1_0000.png"});
  Sample prepared = given->get(0);
  CHECK(prepared.at("image").values<float>()[0] == Approx((10 / 255.0 - 0.1) / 0.5));
  CHECK(prepared.at("image").values<float>()[64] == Approx((110 / 255.0 - 0.2) / 0.25));
  // All files count for the content of the data.
  CHECK(train->files().size() == 12);
}

TEST_CASE("channel pictures: stretched channel by channel", "[data]") {
  const Folder folder;
  write_channel_pairs(folder);
  const auto train = open_channels(folder, Split::kTrain,
                                   R"("channels": ["a", "b"], "intensity": "min_max_255",
                             "split": {"test": 0.25})");
  const Sample sample = train->get(0);
  const auto values = sample.at("image").values<float>();
  for (const std::size_t first : {0, 64}) {
    CHECK(values[first] == 0);
    CHECK(values[first + 63] == 1);
  }
}

TEST_CASE("channel pictures: what is missing or too much is refused", "[data]") {
  const Folder folder;
  write_channel_pairs(folder);
  const std::string split = R"(, "split": {"test": 0.25})";
  CHECK_THROWS_WITH(open_channels(folder, Split::kTrain, R"("channels": ["a", "b", "c"])" + split),
                    Catch::Contains("scene0: 2 files of channels; expected 3, scene0_0000 to "
                                    "scene0_0002"));
  CHECK_THROWS_WITH(open_channels(folder, Split::kTrain, R"("in_chans": 3)" + split),
                    Catch::Contains("dataset.channels names them all"));
  CHECK_THROWS_WITH(open_channels(folder, Split::kTrain, R"("in_chans": 2)" + split),
                    Catch::Contains("channels names those in files of their own"));
}

TEST_CASE("channel pictures: a single file may end in _0000", "[data]") {
  const Folder folder;
  write_channel_pairs(folder);
  for (int n = 0; n < 4; ++n)
    std::filesystem::remove(folder.path / ("images/scene" + std::to_string(n) + "_0001.png"));
  folder.write("splits/train.txt", "scene0\nscene2\n");
  folder.write("splits/test.txt", "scene3\n");
  CHECK(open_channels(folder, Split::kTrain, R"("in_chans": 1)")->size() == 2);
  CHECK(open_channels(folder, Split::kTest, R"("in_chans": 1)")
            ->name(0)
            .ends_with("scene3_0000.png"));
}
