// Images with masks: layouts, lists, what augmentation does to both, and what is refused.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "data/loader.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

// A disc on a dark ground, not in the middle; the red channel of the image is the mask.
struct Disc {
  Image image, mask;
};

Disc disc(std::int64_t height, std::int64_t width, int seed) {
  Disc d{{height, width, 3, {}}, {height, width, 1, {}}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const auto dy = static_cast<double>(y) - 3 - seed % 3;
      const auto dx = static_cast<double>(x) - 5;
      const bool inside = dy * dy + dx * dx < 9;
      const auto value = static_cast<std::uint8_t>(inside ? 255 : 0);
      d.mask.pixels.push_back(value);
      d.image.pixels.insert(d.image.pixels.end(),
                            {value, static_cast<std::uint8_t>(10 * x), std::uint8_t{128}});
    }
  }
  return d;
}

void write_pair(const Folder& folder, const std::string& images, const std::string& masks,
                const std::string& name, const std::string& suffix = "", std::int64_t height = 16,
                std::int64_t width = 12) {
  const Disc d = disc(height, width, static_cast<int>(name.back()));
  folder.write(images + "/" + name + ".png", encode_png(d.image));
  folder.write(masks + "/" + name + suffix + ".png", encode_png(d.mask));
}

// Kvasir-SEG's layout: a0 ... a5, the last two for test.
void write_kvasir(const Folder& folder) {
  for (const char* name : {"a0", "a1", "a2", "a3", "a4", "a5"}) {
    write_pair(folder, "images", "masks", name);
  }
  folder.write("splits/train.txt", "a0\na2.png\r\na1\n\na3\n");
  folder.write("splits/test.txt", "a5.jpg\na4\n");
}

std::shared_ptr<const ImageDataset> open(const Folder& folder, Split split,
                                         const std::string& more = "") {
  return make_images(component("paired_folder", folder.path, more), split);
}

std::vector<std::string> names(const Dataset& d) {
  std::vector<std::string> list;
  for (std::int64_t i = 0; i < d.size(); ++i) {
    list.push_back(std::filesystem::path(d.name(i)).stem().string());
  }
  return list;
}

}  // namespace

TEST_CASE("paired_folder: lists choose the splits, in the order of the names", "[data]") {
  const Folder folder;
  write_kvasir(folder);
  CHECK(names(*open(folder, Split::kTrain)) == std::vector<std::string>{"a0", "a1", "a2", "a3"});
  CHECK(names(*open(folder, Split::kTest)) == std::vector<std::string>{"a4", "a5"});
  const auto config = component("paired_folder", folder.path);
  CHECK_FALSE(has_part(config, Split::kVal));
  folder.write("splits/val.txt", "a3\n");
  CHECK_THROWS_WITH(open(folder, Split::kVal), Catch::Contains("a3 is also in train.txt"));
  folder.write("splits/train.txt", "a0\na1\n");
  CHECK(has_part(config, Split::kVal));
  CHECK(names(*open(folder, Split::kVal)) == std::vector<std::string>{"a3"});
  // Listed names come before a draw.
  const std::string draw = R"("split": {"test": 0.5})";
  CHECK(names(*open(folder, Split::kTest, draw)) == std::vector<std::string>{"a4", "a5"});
  std::filesystem::remove(folder.path / "splits/test.txt");
  CHECK_FALSE(has_part(config, Split::kTest));
  CHECK(names(*open(folder, Split::kTest, draw)).size() == 1);  // of a0 and a1
  std::filesystem::remove(folder.path / "splits/train.txt");
  CHECK_THROWS_WITH(open(folder, Split::kTrain, draw),
                    Catch::Contains("train.txt: not found, but val.txt is there"));
}

TEST_CASE("paired_folder: a drawn split is disjoint, complete and follows its seed", "[data]") {
  const Folder folder;
  for (int i = 0; i < 10; ++i) write_pair(folder, "images", "masks", "b" + std::to_string(i));
  const auto part = [&](Split split, int seed) {
    return names(
        *open(folder, split, R"("split": {"test": 0.3, "seed": )" + std::to_string(seed) + "}"));
  };
  const auto train = part(Split::kTrain, 0);
  const auto test = part(Split::kTest, 0);
  CHECK(train.size() == 7);
  CHECK(test.size() == 3);
  std::set<std::string> all(train.begin(), train.end());
  all.insert(test.begin(), test.end());
  CHECK(all.size() == 10);
  // Written down: experiments name their parts by seed. The share of val is one of all images.
  CHECK(test == std::vector<std::string>{"b3", "b5", "b7"});
  CHECK(part(Split::kTest, 3) == std::vector<std::string>{"b1", "b4", "b9"});
  const auto val = [&](const std::string& split) {
    return names(*open(folder, Split::kVal, "\"split\": " + split));
  };
  CHECK(val(R"({"val": 0.3})") == std::vector<std::string>{"b2", "b4", "b5"});
  CHECK(val(R"({"val": 0.3, "seed": 3})") == std::vector<std::string>{"b2", "b5", "b9"});
  CHECK(val(R"({"val": 0.2, "test": 0.3})").size() == 2);
  CHECK((part(Split::kTest, 1) != test || part(Split::kTest, 2) != test));
}

TEST_CASE("paired_folder: the folders of the ISIC challenges, and by split", "[data]") {
  const Folder folder;
  write_pair(folder, "ISIC-2017_Training_Data", "ISIC-2017_Training_Part1_GroundTruth", "ISIC_1",
             "_segmentation");
  folder.write("ISIC-2017_Training_Data/ISIC_1_superpixels.png", encode_png(pattern(2, 2, 3)));
  write_pair(folder, "ISIC-2017_Validation_Data", "ISIC-2017_Validation_Part1_GroundTruth",
             "ISIC_2", "_segmentation");
  const std::string isic = "\"layout\": \"isic2017\"";
  CHECK(names(*open(folder, Split::kTrain, isic)) == std::vector<std::string>{"ISIC_1"});
  CHECK(names(*open(folder, Split::kVal, isic)) == std::vector<std::string>{"ISIC_2"});
  // What is not there is not replaced.
  CHECK_FALSE(has_part(component("paired_folder", folder.path, isic), Split::kTest));
  CHECK_THROWS_WITH(open(folder, Split::kTest, isic), Catch::Contains("no split \"test\""));

  write_pair(folder, "train/images", "train/masks", "c1");
  write_pair(folder, "test/images", "test/masks", "c2");
  const std::string by_split = "\"layout\": \"by_split\"";
  CHECK(names(*open(folder, Split::kTrain, by_split)) == std::vector<std::string>{"c1"});
  CHECK(names(*open(folder, Split::kTest, by_split)) == std::vector<std::string>{"c2"});
}

TEST_CASE("paired_folder: a mask stays on its image through augmentation", "[data]") {
  const Folder folder;
  write_kvasir(folder);
  const auto d = open(folder, Split::kTrain,
                      R"("normalise": false, "augment": ["horizontal_flip", "vertical_flip",
                          {"type": "random_rotation", "prob": 1}, "random_crop",
                          {"type": "random_erasing", "prob": 0}])");
  REQUIRE(d->has("mask"));
  CHECK(d->fields()[0].shape == Shape{3, 16, 12});
  CHECK(d->fields()[1].shape == Shape{1, 16, 12});
  CHECK(d->num_classes() == 1);
  std::set<std::vector<float>> seen;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    const Sample sample = prepared(*d, 1, {.seed = 4, .epoch = epoch, .augment = true});
    const auto image = image_of(sample), mask = mask_of(sample);
    CHECK(std::equal(mask.begin(), mask.end(), image.begin()));
    seen.insert(mask);
  }
  CHECK(seen.size() > 15);
}

TEST_CASE("paired_folder: a random resized crop takes the mask along", "[data]") {
  const Folder folder;
  write_kvasir(folder);
  const auto d = open(folder, Split::kTrain,
                      R"("normalise": false, "img_size": 10, "mask_resize": "bilinear",
                         "augment": ["horizontal_flip", "random_resized_crop", "vertical_flip"])");
  std::set<std::vector<float>> seen;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    const Sample sample = prepared(*d, 1, {.seed = 4, .epoch = epoch, .augment = true});
    CHECK(sample.geometry.original_size == std::vector<std::int64_t>{16, 12});
    const auto image = image_of(sample), mask = mask_of(sample);
    CHECK(std::equal(mask.begin(), mask.end(), image.begin()));
    seen.insert(mask);
  }
  CHECK(seen.size() > 15);
}

TEST_CASE("paired_folder: resizing, thresholds and intensities", "[data]") {
  const Folder folder;
  write_pair(folder, "images", "masks", "a0");
  write_pair(folder, "images", "masks", "a1", "", 20, 30);
  const std::string size = "\"split\": {\"test\": 0.4}, \"img_size\": 8";
  const auto values = [&](const std::string& more) {
    const auto d = open(folder, Split::kTrain, size + more);
    CHECK(d->fields()[0].shape == Shape{3, 8, 8});
    const Sample sample = prepared(*d, 0);
    return std::pair{image_of(sample), mask_of(sample)};
  };
  const auto soft = [](const std::vector<float>& mask) {
    return std::count_if(mask.begin(), mask.end(), [](float v) { return v > 0 && v < 1; });
  };
  CHECK(soft(values("").second) == 0);
  CHECK(soft(values(", \"mask_resize\": \"bilinear\"").second) > 0);
  const auto stretched = values(", \"intensity\": \"min_max_255\"").first;
  CHECK(*std::max_element(stretched.begin(), stretched.end()) == 255.0f);
  CHECK(*std::min_element(stretched.begin(), stretched.end()) >= 0.0f);
  // Without a size all images must have that of the first.
  const auto read_all = [&] {
    const auto d = open(folder, Split::kTrain, "\"split\": {\"test\": 0.1}");
    for (std::int64_t i = 0; i < d->size(); ++i) d->get(i);
  };
  CHECK_THROWS_WITH(read_all(), Catch::Contains("set dataset.img_size"));
}

TEST_CASE("paired_folder: batches of masks do not depend on the number of workers", "[data]") {
  const Folder folder;
  write_kvasir(folder);
  const auto d = open(folder, Split::kTrain, R"("img_size": 8, "augment": ["random_rotation"])");
  const auto epoch = [&](std::int64_t workers) {
    LoaderOptions options;
    options.batch_size = 3;
    options.num_workers = workers;
    options.shuffle = options.augment = true;
    Loader loader(d, options, fovea::test::cpu());
    loader.start(2);
    std::vector<float> all;
    while (const auto batch = loader.next()) {
      CHECK(batch->at("mask").shape() == Shape{batch->size(), 1, 8, 8});
      for (const char* name : {"image", "mask"})
        for (const float v : batch->at(name).values<float>()) all.push_back(v);
    }
    return all;
  };
  const auto one = epoch(0);
  CHECK(one.size() == 4 * 4 * 64);
  CHECK(epoch(1) == one);
  CHECK(epoch(3) == one);
}

TEST_CASE("paired_folder: what does not fit together is refused by name", "[data]") {
  const Folder folder;
  CHECK_THROWS_WITH(open(folder, Split::kTrain), Catch::Contains("images: not found"));
  io::make_directories(folder.path / "images");
  io::make_directories(folder.path / "masks");
  CHECK_THROWS_WITH(open(folder, Split::kTrain), Catch::Contains("masks: holds no image"));
  write_kvasir(folder);
  folder.write("splits/test.txt", "a4\na9\n");
  CHECK_THROWS_WITH(open(folder, Split::kTest),
                    Catch::Contains("test.txt:2: a9: no image of this name"));
  folder.write("splits/test.txt", "a4\na4.png\n");
  CHECK_THROWS_WITH(open(folder, Split::kTest), Catch::Contains("a4.png is also in line 1"));

  folder.write("splits/test.txt", "a4\na5\n");
  const auto first = [&] { open(folder, Split::kTrain)->get(0); };
  folder.write("masks/a0.png", encode_png(pattern(5, 6, 1)));
  CHECK_THROWS_WITH(first(), Catch::Contains("a0.png: is 5 x 6, its image a0.png is 16 x 12"));
  folder.write("masks/a0.png", "no picture");
  CHECK_THROWS_AS(first(), FileError);
  std::filesystem::remove(folder.path / "masks/a0.png");
  CHECK_THROWS_WITH(first(), Catch::Contains("images/a0.png: has no mask; expected"));
  std::filesystem::remove_all(folder.path / "splits");
  write_pair(folder, "images", "masks", "a0");
  CHECK_THROWS_WITH(open(folder, Split::kTrain),
                    Catch::Contains("splits/train.txt: not found; list the names"));
}

TEST_CASE("paired_folder: masks of 0 and 1 are those of 0 and 255", "[data]") {
  const Folder folder;
  write_kvasir(folder);
  const auto before = mask_of(open(folder, Split::kTest)->get(1));
  CHECK(std::count(before.begin(), before.end(), 1.0f) > 5);
  for (const char* name : {"a0", "a1", "a2", "a3", "a4", "a5"}) {
    Image mask = disc(16, 12, static_cast<int>(name[1])).mask;
    for (std::uint8_t& value : mask.pixels) value = value > 0 ? 1 : 0;
    folder.write(std::string("masks/") + name + ".png", encode_png(mask));
  }
  // Also for a part whose masks show less than those of train.
  CHECK(mask_of(open(folder, Split::kTest)->get(1)) == before);
  const auto soft = [&] { open(folder, Split::kTest, R"("mask_threshold": 0)"); };
  CHECK_THROWS_WITH(soft(), Catch::Contains("masks of test hold no foreground") &&
                                Catch::Contains(" 1 (") && Catch::Contains("in 2 files"));
  CHECK_THROWS_AS(open(folder, Split::kTrain, R"("mask_threshold": 128)"), FileError);
}

TEST_CASE("paired_folder: classes are asked for, and mask_values says which", "[data]") {
  const Folder folder;
  for (const char* name : {"a0", "a1"}) {
    folder.write(std::string("images/") + name + ".png", encode_png(pattern(2, 3, 3)));
    folder.write(std::string("masks/") + name + ".png", encode_png({2, 3, 1, {0, 1, 2, 3, 2, 0}}));
  }
  folder.write("splits/train.txt", "a0\n");
  folder.write("splits/test.txt", "a1\n");
  CHECK_THROWS_WITH(open(folder, Split::kTest), Catch::Contains("values found: 0 (33.3 % of the"));
  const auto mask = [&](const std::string& values) {
    return mask_of(open(folder, Split::kTest, "\"mask_values\": " + values)->get(0));
  };
  CHECK(mask("[2, 3]") == std::vector<float>{0, 0, 1, 1, 1, 0});
  CHECK(mask("\"nonzero\"") == std::vector<float>{0, 1, 1, 1, 1, 0});
  CHECK_THROWS_WITH(mask("[7]"), Catch::Contains("masks of test hold no foreground, which is the "
                                                 "value 7"));
  CHECK_THROWS_WITH(mask("[]"), Catch::Contains("expected a list of values"));
  CHECK_THROWS_WITH(mask("\"ones\""), Catch::Contains("mask_values is \"ones\""));
  CHECK_THROWS_WITH(mask("[1], \"mask_threshold\": 9"), Catch::Contains("choose one"));
  CHECK_THROWS_WITH(mask("[1], \"background\": false"),
                    Catch::Contains("background and ignore_value belong to maps of labels"));
}

TEST_CASE("paired_folder: a part without foreground is refused, a sample without is not",
          "[data]") {
  const Folder folder;
  write_kvasir(folder);
  const std::string black = encode_png({16, 12, 1, std::vector<std::uint8_t>(16 * 12, 0)});
  folder.write("masks/a4.png", black);
  CHECK(open(folder, Split::kTest)->size() == 2);
  CHECK_THROWS_WITH(open(folder, Split::kTest, R"("limit": {"test": 1})"),
                    Catch::Contains("masks of test hold no foreground") &&
                        Catch::Contains("0 (100 % of the pixels) in 1 file"));
  folder.write("masks/a5.png", black);
  CHECK_THROWS_AS(open(folder, Split::kTest), FileError);
  CHECK(open(folder, Split::kTrain)->size() == 4);
}
