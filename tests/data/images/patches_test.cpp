// Patches of pictures with masks: where they lie, what they hold, and whole pictures in
// evaluations.
#include "data/images/patches.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "backend/devices.h"
#include "data/images/image_dataset.h"
#include "data/loader.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

// Grey values that say where a pixel lies, and a mask with a spot of 2 x 2 at (y, x).
void write_spot(const Folder& folder, const std::string& name, std::int64_t height,
                std::int64_t width, std::int64_t y, std::int64_t x) {
  Image image{height, width, 1, {}}, mask{height, width, 1, {}};
  for (std::int64_t i = 0; i < height; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const bool spot = (i == y || i == y + 1) && (j == x || j == x + 1);
      image.pixels.push_back(static_cast<std::uint8_t>((i * 7 + j * 3) % 200 + (spot ? 55 : 0)));
      mask.pixels.push_back(spot ? 255 : 0);
    }
  }
  folder.write("images/" + name + ".png", encode_png(image));
  folder.write("masks/" + name + ".png", encode_png(mask));
}

// Four pictures of different sizes and shapes, the last of them smaller than a patch; a5 is val.
void write_spots(const Folder& folder) {
  write_spot(folder, "a0", 40, 64, 30, 50);
  write_spot(folder, "a1", 64, 24, 3, 3);
  write_spot(folder, "a2", 33, 47, 31, 45);
  write_spot(folder, "a3", 9, 60, 4, 20);
  write_spot(folder, "a5", 21, 50, 10, 10);
  folder.write("splits/train.txt", "a0\na1\na2\na3\n");
  folder.write("splits/val.txt", "a5\n");
}

std::shared_ptr<const ImageDataset> open(const Folder& folder, Split split,
                                         const std::string& more = "") {
  return make_images(
      component("paired_folder", folder.path, R"("in_chans": 1, "patch_size": [16, 16])" + more),
      split);
}

double sum(const Tensor& mask) {
  double total = 0;
  for (const float value : mask.values<float>()) total += value;
  return total;
}

}  // namespace

TEST_CASE("patches: anywhere inside, and every place as often", "[data]") {
  Image mask{20, 18, 1, std::vector<std::uint8_t>(20 * 18, 0)};
  std::map<std::pair<std::int64_t, std::int64_t>, int> places;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Box box = draw_patch({mask}, 16, 16, true, RandomStream(i));
    CHECK((box.height == 16 && box.width == 16));
    ++places[{box.top, box.left}];
  }
  REQUIRE(places.size() == 5 * 3);  // without foreground a forced one lies anywhere too
  for (const auto& [place, count] : places) CHECK(std::abs(count - 200) < 60);
}

TEST_CASE("patches: around every class alike, moved to lie inside", "[data]") {
  Image mask{40, 40, 1, std::vector<std::uint8_t>(1600, 1)};  // labels: 1 + class
  mask.pixels[20 * 40 + 20] = 2;                              // one pixel
  for (std::size_t i = 0; i < 40; ++i) mask.pixels[i] = 3;    // the upper row
  int first = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Box box = draw_patch({mask, true}, 10, 8, true, RandomStream(i));
    const bool single = box.top == 15 && box.left == 16;
    first += single;
    if (!single) CHECK(box.top == 0);
    CHECK((box.left >= 0 && box.left <= 32));
  }
  CHECK(std::abs(first - 500) < 60);
  // The background is a class where nothing else is one.
  std::set<std::int64_t> tops;
  for (std::uint64_t i = 0; i < 200; ++i)
    tops.insert(draw_patch({mask, true, false}, 10, 8, true, RandomStream(i)).top);
  CHECK(tops.size() > 10);
}

TEST_CASE("patches: where few pixels have a class, around one of those", "[data]") {
  Image mask{40, 40, 1, std::vector<std::uint8_t>(1600, 0)};
  mask.pixels[30 * 40 + 10] = 1;  // the background
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Box box = draw_patch({mask, true}, 8, 8, i % 2 == 0, RandomStream(i));
    CHECK((box.top == 26 && box.left == 6));
  }
}

TEST_CASE("patches: a picture that is smaller lies in the middle", "[data]") {
  Image mask{5, 30, 1, std::vector<std::uint8_t>(150, 0)};
  const Box box = draw_patch({mask}, 16, 16, false, RandomStream(1));
  CHECK(box.top == -5);  // five rows above, six below, as windows have them
  const Box seen = inside(box, 5, 30);
  CHECK((seen.top == 0 && seen.height == 5 && seen.left == box.left && seen.width == 16));
}

TEST_CASE("patches: batches hold parts of pictures of any size, a share around foreground",
          "[data]") {
  const Folder folder;
  write_spots(folder);
  const auto train = open(folder, Split::kTrain, R"(, "foreground": 0.5)");
  CHECK(train->shape() == SampleShape{.channels = 1, .height = 16, .width = 16, .classes = 1});
  LoaderOptions options;
  options.batch_size = 4;
  options.augment = true;
  Loader loader(train, options, make_cpu(1));
  int elsewhere = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    loader.start(epoch);
    const auto batch = loader.next();
    REQUIRE(batch->at("image").shape() == Shape{4, 1, 16, 16});
    for (std::int64_t k = 0; k < 4; ++k) {
      const double pixels = sum(batch->at("mask").rows(k, k + 1));
      if (k >= 2) CHECK(pixels == 4);  // the whole spot, since no spot is cut by a border
      elsewhere += k < 2 && pixels == 0;
    }
  }
  CHECK(elsewhere > 5);
}

TEST_CASE("patches: pixels are those of the file, zeros around", "[data]") {
  const Folder folder;
  write_spots(folder);
  const auto train = open(folder, Split::kTrain, R"(, "mean": [0.5], "std": [0.25])");
  const Image file = read_image(folder.path / "images/a3.png");
  Sample sample = train->blank();
  train->prepare(3, {}, sample);  // without augmentation: around foreground
  const auto values = image_of(sample);
  // 9 rows lie in 16: three above. The spot is at (4, 20), so that the first column is 12 or 13.
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(values[i] == 0.0f);
    CHECK(values[12 * 16 + i] == 0.0f);
  }
  bool found = false;
  for (std::int64_t left = 12; left <= 13; ++left) {
    bool same = true;
    for (std::int64_t y = 0; y < 9; ++y) {
      for (std::int64_t x = 0; x < 16; ++x) {
        const float pixel = file.pixels[static_cast<std::size_t>(y * 60 + left + x)] / 255.0f;
        same = same &&
               values[static_cast<std::size_t>((y + 3) * 16 + x)] == Approx((pixel - 0.5f) / 0.25f);
      }
    }
    found = found || same;
  }
  CHECK(found);
}

TEST_CASE("patches: evaluations see whole pictures, at their size or the longer side's", "[data]") {
  const Folder folder;
  write_spots(folder);
  const auto own = open(folder, Split::kVal);
  CHECK(one_a_batch(own->fields()));
  CHECK(own->get(0).at("image").shape() == Shape{1, 21, 50});
  CHECK(own->get(0).at("mask").shape() == Shape{1, 21, 50});
  CHECK(open(folder, Split::kTrain)->for_evaluation()->get(0).at("image").shape() ==
        Shape{1, 40, 64});
  const auto scaled = open(folder, Split::kVal, R"(, "longest": 100)");
  CHECK(scaled->get(0).at("image").shape() == Shape{1, 42, 100});
  CHECK(scaled->get_file(folder.path / "images/a5.png").at("image").shape() == Shape{1, 42, 100});
  CHECK(image_of(scaled->get_file(folder.path / "images/a5.png")) == image_of(scaled->get(0)));
  CHECK(scaled->original_mask(0).shape() == Shape{1, 21, 50});
  CHECK(sum(scaled->original_mask(0)) == 4);
  Sample sample = scaled->blank();
  scaled->prepare(0, {}, sample);
  CHECK(sample.geometry.original_size == std::vector<std::int64_t>{21, 50});
}

TEST_CASE("patches: what does not fit together is refused", "[data]") {
  const Folder folder;
  write_spots(folder);
  CHECK_THROWS_WITH(open(folder, Split::kTrain, R"(, "img_size": 32)"),
                    Catch::Contains("img_size and patch_size are both given"));
  CHECK_THROWS_WITH(open(folder, Split::kTrain, R"(, "spacing": [1])"),
                    Catch::Contains("spacing has 1 numbers; expected 2"));
  CHECK_THROWS_WITH(
      make_images(component("paired_folder", folder.path, R"("longest": 64)"), Split::kTrain),
      Catch::Contains("longest is given without patch_size"));
  CHECK_THROWS_WITH(
      make_images(component("paired_folder", folder.path,
                            R"("patch_size": [16, 8], "augment": ["rot_flip_or_rotate"])"),
                  Split::kTrain),
      Catch::Contains("turns by quarters, but the samples are 16 x 8"));
}
