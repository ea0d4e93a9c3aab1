// Any picture file is prepared as the samples of its data set are; what is not read is said.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/dataset.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

// One file of every kind, none of them square.
std::vector<std::pair<std::string, std::string>> pictures() {
  std::vector<std::uint16_t> deep;
  for (int i = 0; i < 9 * 14; ++i) deep.push_back(static_cast<std::uint16_t>(i * 509));
  const std::string colours("\x10\x20\x30\xff\x00\x00\x00\xff\x00\x00\x00\xff", 12);
  return {{"rgba.png", encode_png(pattern(9, 14, 4))},
          {"grey_alpha.png", encode_png(pattern(9, 14, 2))},
          {"grey.png", encode_png(pattern(14, 9, 1))},
          {"rgb.png", encode_png(pattern(20, 11, 3))},
          {"deep.png", png16(9, 14, deep)},
          {"palette.png",
           png(3, 8, 2, 3, {"\x1b\xe4", std::string("\x00\xff", 2), "\xd8\x27"}, colours)},
          {"photo.jpg", tiny_jpeg()},
          {"picture.bmp", bmp(pattern(7, 9, 3))},
          {"picture.ppm", ppm(pattern(7, 12, 3))}};
}

std::shared_ptr<const ImageDataset> open(const std::string& type, const Folder& folder,
                                         const std::string& more, Split split = Split::kTrain) {
  return make_images(component(type, folder.path, more), split);
}

}  // namespace

TEST_CASE("get_file: a file of the data set gives what its sample gives", "[data]") {
  const Folder folder;
  for (const auto& [name, content] : pictures()) {
    folder.write("train/cat/" + name, content);
    folder.write("images/" + name, content);
    const Image image = decode_image(bytes_of(content), name, 1);
    folder.write("masks/" + std::filesystem::path(name).stem().string() + ".png",
                 encode_png({image.height, image.width, 1,
                             std::vector<std::uint8_t>(
                                 static_cast<std::size_t>(image.height * image.width), 255)}));
  }
  // Stems must differ where masks are found by them.
  std::filesystem::rename(folder.path / "images/picture.bmp", folder.path / "images/bitmap.bmp");
  folder.write("masks/bitmap.png", encode_png({7, 9, 1, std::vector<std::uint8_t>(63, 255)}));
  folder.write("splits/train.txt",
               "rgba\ngrey_alpha\ngrey\nrgb\ndeep\npalette\nphoto\nbitmap\npicture\n");
  const std::string kind =
      GENERATE(R"("img_size": 8)", R"("img_size": 8, "crop_pct": 0.7, "interpolation": "bicubic")",
               R"("img_size": 8, "in_chans": 1, "exif": true, "antialias": false)",
               R"("img_size": 6, "augment": ["random_resized_crop"])",
               R"("img_size": 8, "intensity": "min_max_255")");
  const bool masked = kind.find("intensity") != std::string::npos;
  const auto d = open(masked ? "paired_folder" : "image_folder", folder, kind);
  REQUIRE(d->size() == 9);
  for (std::int64_t i = 0; i < d->size(); ++i) {
    INFO(d->name(i) << " with " << kind);
    CHECK(image_of(d->get_file(d->name(i))) == image_of(d->get(i)));
  }
}

TEST_CASE("get_file: pictures from elsewhere keep their aspect ratio", "[data]") {
  const Folder folder;
  folder.write("train/cat/0.png", encode_png(pattern(6, 6, 3)));
  // The middle third is white.
  Image wide{4, 12, 1, {}};
  for (int i = 0; i < 48; ++i) wide.pixels.push_back(i % 12 >= 4 && i % 12 < 8 ? 255 : 0);
  const auto file = folder.write("elsewhere/wide.png", encode_png(wide));
  const auto white = [&](const ImageDataset& d) {
    const std::vector<float> image = image_of(d.get_file(file));
    REQUIRE(static_cast<std::int64_t>(image.size()) == d.fields()[0].shape.numel());
    return *std::min_element(image.begin(), image.end()) > 0.7f;
  };
  CHECK(white(*open("image_folder", folder, "")));
  CHECK(white(*open("image_folder", folder, R"("img_size": 10)")));
  CHECK(white(*make_images(component(R"({"type": "synthetic", "img_size": 8})"), Split::kTest)));
  CHECK_THROWS_WITH(open("image_folder", folder, "")->get_file(folder.path / "none.png"),
                    Catch::Contains("none.png: not found"));
}

TEST_CASE("image_folder: 16 bits reach the network as value / 65535", "[data]") {
  const Folder folder;
  folder.write("train/cat/0.png", png16(1, 4, {0, 1, 300, 65535}));
  const auto d = open("image_folder", folder, R"("in_chans": 1)");
  CHECK(image_of(d->get(0)) == std::vector<float>{0.0f, 1.0f / 65535.0f, 300.0f / 65535.0f, 1.0f});
}

TEST_CASE("image_folder: keys that say nothing together are refused", "[data]") {
  const Folder folder;
  folder.write("train/cat/0.png", encode_png(pattern(6, 6, 3)));
  CHECK_THROWS_WITH(open("image_folder", folder, R"("crop_pct": 0.9)"),
                    Catch::Contains("crop_pct is given without img_size"));
  CHECK_THROWS_AS(open("image_folder", folder, R"("img_size": 4, "crop_pct": 0)"), ConfigError);
  CHECK_THROWS_AS(open("image_folder", folder, R"("interpolation": "cubic")"), ConfigError);
}

TEST_CASE("folders: pictures in formats that are not read are counted and said", "[data]") {
  const Folder folder;
  folder.write("train/cat/0.png", encode_png(pattern(6, 6, 3)));
  for (int i = 0; i < 3; ++i) folder.write("train/cat/a" + std::to_string(i) + ".heic", "RIFF");
  folder.write("train/cat/b.GIF", "II");
  folder.write("train/cat/notes.txt", "none of these");
  folder.write("train/cat/.hidden.heic", "RIFF");
  const auto notes = open("image_folder", folder, "")->notes();
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::Contains("train: 4 files left out: .gif 1, .heic 3; convert them"));
  folder.write("train/dog/b.gif", "GIF89a");
  CHECK_THROWS_WITH(open("image_folder", folder, ""),
                    Catch::Contains("dog: holds no image") &&
                        Catch::Contains("1 file left out: .gif 1; convert it to PNG"));

  folder.write("images/a.png", encode_png(pattern(2, 2, 3)));
  folder.write("images/b.tga", "II");
  folder.write("masks/a.png", encode_png({2, 2, 1, {0, 1, 0, 1}}));
  folder.write("splits/train.txt", "a\n");
  const auto paired = open("paired_folder", folder, "")->notes();
  REQUIRE(paired.size() == 1);
  CHECK_THAT(paired[0], Catch::Contains("images: 1 file left out: .tga 1"));
  CHECK(make_images(component(R"({"type": "synthetic"})"), Split::kTest)->notes().empty());
}
