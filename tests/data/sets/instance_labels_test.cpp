// Label images: every value is an object.
#include <catch2/catch.hpp>

#include "tests/data/boxes/box_sets.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

// 4 x 5; value 7 in two pieces.
const Image kLabels{4, 5, 1, {0, 2, 2, 0, 7,  //
                              0, 2, 0, 0, 7,  //
                              0, 0, 0, 0, 0,  //
                              7, 0, 0, 0, 0}};

void write_cells(const Folder& folder) {
  for (const char* name : {"a", "b", "c"}) {
    folder.write(std::string("images/") + name + ".png", encode_png(pattern(4, 5, 1)));
    folder.write(std::string("labels/") + name + ".png", encode_png(kLabels));
  }
  folder.write("labels/c.png", encode_png({4, 5, 1, std::vector<std::uint8_t>(20, 0)}));
  folder.write("splits/train.txt", "a\nc\n");
  folder.write("splits/test.txt", "b\n");
}

constexpr const char* kSmall =
    R"("masks": true, "min_image_side": 0, "min_size": 4, "max_size": 5, "class_name": "cell")";

std::shared_ptr<const BoxDataset> cells(const Folder& folder, Split split,
                                        const std::string& more = "") {
  return make_boxes(component("instance_labels", folder.path, kSmall + more), split);
}

}  // namespace

TEST_CASE("instance_labels: boxes are extents, masks the pixels of a value", "[data]") {
  const Folder folder;
  write_cells(folder);
  const auto test = cells(folder, Split::kTest);
  REQUIRE(test->size() == 1);
  CHECK(test->class_names() == std::vector<std::string>{"cell"});
  const BoxTruth truth = test->truth(0);
  REQUIRE(truth.objects.size() == 2);
  CHECK(truth.objects[0].box == std::array<double, 4>{1, 0, 3, 2});
  CHECK(truth.objects[0].area == 3);
  CHECK(truth.objects[1].box == std::array<double, 4>{0, 0, 5, 4});
  CHECK(truth.objects[1].area == 3);
  REQUIRE(truth.masks.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) {
    const std::uint8_t value = k == 0 ? 2 : 7;
    std::vector<std::uint8_t> mask;
    for (const std::uint8_t label : kLabels.pixels) mask.push_back(label == value ? 1 : 0);
    CHECK(decode_mask(truth.masks[k]) == mask);
  }
  const auto train = cells(folder, Split::kTrain);
  CHECK(train->size() == 1);  // c has no object
  CHECK(cells(folder, Split::kTrain, R"(, "filter_empty": false)")->size() == 2);
  CHECK(prepared(*test, 0).at("masks").shape() == Shape{2, 4, 5});
}

TEST_CASE("instance_labels: values of 16 bits, and files that are wrong", "[data]") {
  const Folder folder;
  write_cells(folder);
  std::vector<std::uint16_t> deep(20, 0);
  deep[3] = 40000;
  deep[19] = 300;
  folder.write("labels/b.png", png16(4, 5, deep));
  const BoxTruth truth = cells(folder, Split::kTest)->truth(0);
  REQUIRE(truth.objects.size() == 2);
  CHECK(truth.objects[0].record == 300);
  CHECK(truth.objects[0].box == std::array<double, 4>{4, 3, 5, 4});
  CHECK(mask_box(truth.masks[1]) == MaskBox{3, 0, 1, 1});
  folder.write("labels/b.png", "damaged");
  CHECK_THROWS_WITH(cells(folder, Split::kTest), Catch::Contains("labels/b.png: is not a PNG"));
  folder.write("labels/b.png", encode_png(pattern(5, 4, 1)));
  CHECK_THROWS_WITH(prepared(*cells(folder, Split::kTest), 0),
                    Catch::Contains("b.png: is 4 x 5, its annotation says 5 x 4"));
  std::filesystem::remove(folder.path / "splits/train.txt");
  CHECK_THROWS_WITH(cells(folder, Split::kTrain), Catch::Contains("splits/train.txt: not found"));
  CHECK(
      cells(folder, Split::kTrain, R"(, "split": {"test": 0.34}, "filter_empty": false)")->size() ==
      2);
}
