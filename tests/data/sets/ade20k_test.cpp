// ADE20K: parts, labels, and sizes in training and in evaluations (mala 7.3).
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "data/loader.h"
#include "tests/data/readers.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

Image annotation(std::int64_t height, std::int64_t width, int seed) {
  Image map{height, width, 1, {}};
  for (std::int64_t i = 0; i < height * width; ++i)
    map.pixels.push_back(static_cast<std::uint8_t>((i / 3 + seed) % 151));
  return map;
}

void write_scenes(const Folder& folder) {
  for (int i = 0; i < 4; ++i) {
    const std::string name = "ADE_" + std::to_string(i);
    const std::int64_t height = 20 + 4 * i, width = 36 - 4 * i;
    folder.write("images/training/" + name + ".png", encode_png(pattern(height, width, 3, i)));
    folder.write("annotations/training/" + name + ".png", encode_png(annotation(height, width, i)));
  }
  folder.write("images/validation/v.png", encode_png(pattern(30, 48, 3)));
  folder.write("annotations/validation/v.png", encode_png(annotation(30, 48, 0)));
}

const char* const kKeys = R"("img_size": 16, "longest": 64, "augment": [
    {"type": "random_rescale", "shorter": 16, "longer": 64},
    {"type": "random_class_crop", "size": [16, 16]}, "horizontal_flip", "photometric_distortion",
    {"type": "pad", "size": [16, 16]}])";

}  // namespace

TEST_CASE("ade20k: training and validation, 150 classes, the value 0 is ignored", "[data]") {
  const Folder folder;
  write_scenes(folder);
  const auto train = open("ade20k", folder, R"("img_size": 16, "longest": 0)");
  CHECK(train->size() == 4);
  CHECK(train->num_classes() == 150);
  CHECK_FALSE(train->has_background());
  CHECK(train->class_names().front() == "wall");
  CHECK(train->class_names().back() == "flag");
  const std::set<std::string> distinct(train->class_names().begin(), train->class_names().end());
  CHECK(distinct.size() == 150);
  CHECK_FALSE(has_part(component("ade20k", folder.path), Split::kTest));
  const auto val = open("ade20k", folder, "", Split::kVal);
  CHECK(val->size() == 1);
  const Tensor truth = val->original_mask(0);
  REQUIRE(truth.shape() == Shape{30, 48});
  const auto labels = truth.values<std::int64_t>();
  for (std::int64_t i = 0; i < 30 * 48; ++i) {
    const std::int64_t value = i / 3 % 151;
    CHECK(labels[static_cast<std::size_t>(i)] == (value == 0 ? kIgnoreLabel : value - 1));
  }
  const auto shape = known_shape(component("ade20k", folder.path));
  REQUIRE(shape);
  CHECK(shape->classes == 150);
  CHECK(shape->height == 512);
  CHECK(shape->label_maps);
}

TEST_CASE("ade20k: training samples have one size, what is padded is 0 and ignored", "[data]") {
  const Folder folder;
  write_scenes(folder);
  const auto train = open("ade20k", folder, kKeys);
  std::int64_t padded = 0;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    for (std::int64_t i = 0; i < train->size(); ++i) {
      const Sample sample = prepared(*train, i, {.seed = 1, .epoch = epoch, .augment = true});
      REQUIRE(sample.at("image").shape() == Shape{3, 16, 16});
      REQUIRE(sample.at("mask").shape() == Shape{16, 16});
      const auto image = image_of(sample);
      const auto labels = sample.at("mask").values<std::int64_t>();
      for (std::size_t p = 0; p < 256; ++p) {
        CHECK((labels[p] == kIgnoreLabel || (labels[p] >= 0 && labels[p] < 150)));
        // No colour of the pictures is the mean to the last digit.
        if (image[p] != 0 || image[256 + p] != 0 || image[512 + p] != 0) continue;
        ++padded;
        CHECK(labels[p] == kIgnoreLabel);
      }
    }
  }
  CHECK(padded > 100);
}

TEST_CASE("ade20k: evaluations see whole pictures of their own ratio, one a batch", "[data]") {
  const Folder folder;
  write_scenes(folder);
  const auto train = open("ade20k", folder, kKeys);
  const auto val = open("ade20k", folder, kKeys, Split::kVal);
  CHECK(one_a_batch(val->fields()));
  CHECK_FALSE(one_a_batch(train->fields()));
  CHECK(val->for_evaluation() == nullptr);
  CHECK(val->get(0).at("image").shape() == Shape{3, 16, 26});
  CHECK(val->get_file(val->name(0)).at("image").shape() == Shape{3, 16, 26});
  const auto whole = train->for_evaluation();
  REQUIRE(whole != nullptr);
  Loader loader(whole, {.batch_size = 1, .num_workers = 2},
                Device(DeviceType::kCpu, heap_memory(), nullptr));
  loader.start(0);
  std::vector<Shape> shapes;
  while (const auto batch = loader.next()) {
    shapes.push_back(batch->at("image").shape());
    CHECK(batch->at("mask").shape() ==
          Shape{1, batch->at("image").size(2), batch->at("image").size(3)});
  }
  CHECK(shapes ==
        std::vector<Shape>{{1, 3, 16, 29}, {1, 3, 16, 21}, {1, 3, 16, 16}, {1, 3, 21, 16}});
  // The same without augmentation as with it.
  const Sample sample = prepared(*whole, 0, {.seed = 1, .augment = true});
  CHECK(image_of(sample) == image_of(prepared(*whole, 0)));
  // Labels of such a size are brought back to the file's.
  const Tensor back = val->at_original(val->get(0).at("mask"), 30, 48);
  CHECK(back.shape() == Shape{30, 48});
  const auto square = open("ade20k", folder, R"("img_size": 16, "longest": 0)", Split::kVal);
  CHECK(square->get(0).at("image").shape() == Shape{3, 16, 16});
  CHECK(square->for_evaluation() == nullptr);
}

TEST_CASE("ade20k: what is wrong is refused with its place", "[data]") {
  const Folder folder;
  CHECK_THROWS_WITH(open("ade20k", folder), Catch::Contains("images/training") &&
                                                Catch::Contains("see datasets/ade20k.md"));
  write_scenes(folder);
  CHECK_THROWS_WITH(open("ade20k", folder, R"("longest": 100)"),
                    Catch::Contains("longest is below img_size"));
  Image map = annotation(20, 36, 0);
  map.pixels[5] = 151;
  folder.write("annotations/training/ADE_0.png", encode_png(map));
  CHECK_THROWS_WITH(open("ade20k", folder)->get(0),
                    Catch::Contains("value 151 in row 0, column 5"));
}
