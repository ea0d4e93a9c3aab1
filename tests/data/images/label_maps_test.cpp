// Masks that are maps of labels: every value a class, one perhaps to be ignored.
#include <catch2/catch.hpp>

#include <set>

#include "base/error.h"
#include "data/images/label_values.h"
#include "data/loader.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

constexpr std::int64_t kHeight = 9, kWidth = 7;

// A map of the values 0, 50 and 200 with a border of 255; the red channel of its image is the map.
Image map_of(int seed) {
  Image map{kHeight, kWidth, 1, {}};
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      const bool border = x == 0 || y == 0;
      const std::int64_t kind = (x / 2 + y / 3 + seed) % 3;
      map.pixels.push_back(static_cast<std::uint8_t>(border      ? 255
                                                     : kind == 0 ? 0
                                                     : kind == 1 ? 50
                                                                 : 200));
    }
  }
  return map;
}

void write_maps(const Folder& folder) {
  for (int i = 0; i < 5; ++i) {
    const Image map = map_of(i);
    Image image{kHeight, kWidth, 3, {}};
    for (const std::uint8_t value : map.pixels)
      image.pixels.insert(image.pixels.end(), {value, std::uint8_t{9}, std::uint8_t{200}});
    const std::string name = "m" + std::to_string(i) + ".png";
    folder.write("images/" + name, encode_png(image));
    folder.write("masks/" + name, encode_png(map));
  }
}

std::shared_ptr<const ImageDataset> open(const Folder& folder, const std::string& more,
                                         Split split = Split::kTrain) {
  return make_images(component("paired_folder", folder.path,
                               R"("mask_type": "labels", "split": {"test": 0.2}, )" + more),
                     split);
}

std::vector<std::int64_t> labels_of(const Sample& sample) {
  const auto values = sample.at("mask").values<std::int64_t>();
  return {values.begin(), values.end()};
}

// What the label of a pixel must be, from the red channel of its image.
std::int64_t expected_label(float red) {
  const int value = static_cast<int>(red * 255.0f + 0.5f);
  return value == 255 ? kIgnoreLabel : value == 200 ? 2 : value == 50 ? 1 : 0;
}

}  // namespace

TEST_CASE("label maps: values are classes, in the order given or found in train", "[data]") {
  const Folder folder;
  write_maps(folder);
  const auto found = open(folder, R"("ignore_value": 255)");
  CHECK(found->class_names() == std::vector<std::string>{"0", "50", "200"});
  CHECK_THAT(found->notes().at(0), Catch::Contains("3 classes, the values of the masks of train"));
  CHECK(found->fields()[1].dtype == DType::kInt64);
  CHECK(found->fields()[1].shape == Shape{kHeight, kWidth});
  const Sample sample = found->get(0);
  const auto labels = labels_of(sample);
  const auto red = image_of(sample);
  for (std::size_t p = 0; p < labels.size(); ++p) CHECK(labels[p] == expected_label(red[p]));
  // Without a value to ignore 255 is a class like others.
  CHECK(open(folder, R"("normalise": true)")->num_classes() == 4);

  const auto named = open(folder, R"("ignore_value": 255, "mask_values": [200, 0, 50],
                                     "classes": ["bone", "air", "fat"])");
  CHECK(named->class_names() == std::vector<std::string>{"bone", "air", "fat"});
  const auto other = labels_of(named->get(0));
  const std::int64_t renumbered[] = {1, 2, 0};  // of 0, 50, 200
  for (std::size_t p = 0; p < labels.size(); ++p)
    CHECK(other[p] == (labels[p] < 0 ? kIgnoreLabel : renumbered[labels[p]]));
  CHECK(named->has_background());
  CHECK_FALSE(open(folder, R"("ignore_value": 255, "background": false)")->has_background());
  const auto shape = known_shape(component("paired_folder", folder.path, R"("img_size": 8,
      "mask_type": "labels", "classes": ["a", "b", "c", "d"])"));
  CHECK(shape->classes == 4);
  CHECK_FALSE(known_shape(component("paired_folder", folder.path, R"("img_size": 8,
      "mask_type": "labels")")));
}

TEST_CASE("label maps: augmentation takes them along, and what comes in has no label", "[data]") {
  const Folder folder;
  write_maps(folder);
  const std::string keys = R"("normalise": false, "augment": ["horizontal_flip", "vertical_flip",
      {"type": "random_rotation", "prob": 1}, {"type": "random_crop", "padding": 2}],
      "mask_values": [0, 50, 200])";
  const auto ignoring = open(folder, keys + R"(, "ignore_value": 255)");
  std::set<std::vector<std::int64_t>> seen;
  std::int64_t outside = 0;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    const Sample sample = prepared(*ignoring, 1, {.seed = 4, .epoch = epoch, .augment = true});
    const auto labels = labels_of(sample);
    const auto image = image_of(sample);
    for (std::size_t p = 0; p < labels.size(); ++p) {
      const bool from_outside = image[2 * kHeight * kWidth + p] == 0.0f;  // blue is 200 inside
      outside += from_outside ? 1 : 0;
      CHECK(labels[p] == (from_outside ? kIgnoreLabel : expected_label(image[p])));
    }
    seen.insert(labels);
  }
  CHECK(outside > 0);
  CHECK(seen.size() > 15);

  // Where nothing is ignored, black from outside is the first class.
  for (int i = 0; i < 5; ++i) {
    Image map = map_of(i);
    for (std::uint8_t& value : map.pixels) value = value == 255 ? 50 : value;
    folder.write("masks/m" + std::to_string(i) + ".png", encode_png(map));
  }
  const auto plain = open(folder, keys);
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    for (const std::int64_t label :
         labels_of(prepared(*plain, 1, {.seed = 4, .epoch = epoch, .augment = true})))
      CHECK((label >= 0 && label < 3));
  }
}

TEST_CASE("label maps: resizing takes the nearest label, and batches are int64", "[data]") {
  const Folder folder;
  write_maps(folder);
  const auto d = open(folder, R"("img_size": 13, "ignore_value": 255,
      "augment": ["random_resized_crop"])");
  Loader loader(d, {.batch_size = 3, .num_workers = 2, .shuffle = true, .augment = true},
                Device(DeviceType::kCpu, heap_memory(), nullptr));
  loader.start(1);
  const auto batch = loader.next();
  REQUIRE(batch);
  CHECK(batch->at("mask").shape() == Shape{3, 13, 13});
  CHECK(batch->at("image").shape() == Shape{3, 3, 13, 13});
  for (const std::int64_t label : batch->at("mask").values<std::int64_t>())
    CHECK((label == kIgnoreLabel || (label >= 0 && label < 3)));
  CHECK(batch->geometry[0].original_size == std::vector<std::int64_t>{kHeight, kWidth});
}

TEST_CASE("label maps: palettes and many classes", "[data]") {
  const Folder folder;
  const std::string colours("\x10\x20\x30\xff\x00\x00\x00\xff\x00\x00\x00\xff", 12);
  for (const char* name : {"a.png", "b.png"}) {
    folder.write(std::string("images/") + name, encode_png(pattern(2, 3, 3)));
    folder.write(
        std::string("masks/") + name,
        png(2, 3, 8, 3, {std::string("\x00\x01\x02", 3), std::string("\x03\x03\x00", 3)}, colours));
  }
  const auto palette = open(folder, R"("limit": {"train": 1})");
  CHECK(labels_of(palette->get(0)) == std::vector<std::int64_t>{0, 1, 2, 3, 3, 0});

  std::vector<int> values;
  for (int v = 0; v < 700; ++v) values.push_back(3 * v);
  const LabelRule rule(values, 9000);
  MaskFile mask{{1, 4, 1, {}, {0, 3 * 699, 9000, 30}}, false};
  CHECK(rule.apply(mask, "m").deep == std::vector<std::uint16_t>{1, 700, 0, 11});
  mask.image.deep[1] = 31;
  CHECK_THROWS_WITH(rule.apply(mask, "m.png"),
                    Catch::Contains("m.png: value 31 in row 0, column 1; expected those of the "
                                    "classes: 0, 3, 6") &&
                        Catch::Contains(", ..., or 9000 to ignore"));
}

TEST_CASE("label maps: what is wrong is refused with its place", "[data]") {
  const Folder folder;
  write_maps(folder);
  const auto refused = [&](const std::string& keys, const std::string& part) {
    INFO(keys);
    CHECK_THROWS_WITH(open(folder, keys), Catch::Contains(part));
  };
  refused(R"("mask_threshold": 3)", "maps of labels have no grey values");
  refused(R"("mask_resize": "bilinear")", "nothing between two labels");
  refused(R"("mask_values": "nonzero")", "expected the values of the classes");
  refused(R"("mask_values": [1, 1])", "each with a value of its own");
  refused(R"("mask_values": [1])", "two classes or more");
  refused(R"("mask_values": [0, 1], "classes": ["a"])", "1 classes, but mask_values has 2");
  refused(R"("mask_values": [0, 1], "ignore_value": 1)", "also the value of a class");
  CHECK_THROWS_WITH(
      make_images(component("paired_folder", folder.path, R"("ignore_value": 1)"), Split::kTrain),
      Catch::Contains("set mask_type to \"labels\""));
  const auto d = open(folder, R"("mask_values": [0, 50, 200])");
  CHECK_THROWS_WITH(d->get(0), Catch::Contains("value 255 in row 0, column 0; expected those of "
                                               "the classes: 0, 50, 200; see dataset.mask_values"));
  folder.write("masks/m0.png", tiny_jpeg());
  CHECK_THROWS_WITH(LabelRule({0, 1}, {}).apply({{1, 1, 1, {0}}, true}, "m"),
                    Catch::Contains("JPEG file, which does not keep exact values"));
  for (int i = 0; i < 5; ++i) {
    folder.write("masks/m" + std::to_string(i) + ".png",
                 encode_png({kHeight, kWidth, 1, std::vector<std::uint8_t>(kHeight * kWidth, 7)}));
  }
  refused(R"("normalise": true)", "fewer than two classes: values found: 7 (100 %");
  refused(R"("mask_values": [7, 8])",
          "masks of train hold no foreground, which is another class "
          "than that of the value 7");
}

TEST_CASE("label maps: they are a kind of data of their own", "[data]") {
  const auto kind = [](const std::string& json) { return kind_of(component(json)); };
  CHECK(kind(R"({"type": "paired_folder"})") == Kind::kMaskedImages);
  CHECK(kind(R"({"type": "paired_folder", "mask_type": "foreground"})") == Kind::kMaskedImages);
  CHECK(kind(R"({"type": "paired_folder", "mask_type": "labels"})") == Kind::kLabelMaps);
  // Also where other options are wrong, which is said elsewhere.
  CHECK(kind(R"({"type": "paired_folder", "mask_type": "labels", "x": 1})") == Kind::kLabelMaps);
  CHECK(kind_of({"paired_folder", {}}) == Kind::kMaskedImages);
  CHECK(kind_of({"synthetic_segmentation", {}}) == Kind::kLabelMaps);
  const Folder folder;
  write_maps(folder);
  const auto d = open(folder, R"("ignore_value": 255)");
  CHECK(d->shape().label_maps);
  CHECK(d->label_values() == std::vector<int>{0, 50, 200});
  CHECK(known_shape(component("paired_folder", "/nowhere",
                              R"("mask_type": "labels", "classes": ["a", "b"], "img_size": 8)"))
            ->label_maps);
}

TEST_CASE("label maps: a cut says where it was", "[data]") {
  const Folder folder;
  write_maps(folder);
  const auto d = open(folder, R"("ignore_value": 255, "img_size": 6,
      "augment": ["random_resized_crop"])");
  CHECK(prepared(*d, 0).geometry.offset.empty());
  std::set<std::vector<std::int64_t>> offsets;
  for (std::int64_t epoch = 0; epoch < 30; ++epoch) {
    const Sample sample = prepared(*d, 0, {.seed = 2, .epoch = epoch, .augment = true});
    CHECK(sample.geometry.original_size == std::vector<std::int64_t>{kHeight, kWidth});
    if (sample.geometry.offset.empty()) continue;
    REQUIRE(sample.geometry.offset.size() == 2);
    CHECK((sample.geometry.offset[0] >= 0 && sample.geometry.offset[0] < kHeight));
    CHECK((sample.geometry.offset[1] >= 0 && sample.geometry.offset[1] < kWidth));
    offsets.insert(sample.geometry.offset);
  }
  CHECK(offsets.size() > 5);
}

TEST_CASE("synthetic_segmentation: every pixel has a class, splits differ, everything repeats",
          "[data]") {
  const auto config = [](const std::string& more) {
    return component(R"({"type": "synthetic_segmentation", "num_classes": 5, "in_chans": 2,
                         "img_size": 20, "train_size": 12, "test_size": 6)" +
                     more + "}");
  };
  const auto train = make_images(config(""), Split::kTrain);
  const auto test = make_images(config(""), Split::kTest);
  CHECK(train->size() == 12);
  CHECK(test->size() == 6);
  CHECK(train->class_names() ==
        std::vector<std::string>{"background", "disc", "cross", "frame", "stripes"});
  CHECK(train->label_values() == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(train->fields()[1].shape == Shape{20, 20});
  const Sample first = train->get(0);
  CHECK(image_of(first).size() == 800);
  CHECK(labels_of(first) == labels_of(make_images(config(""), Split::kTrain)->get(0)));
  CHECK(labels_of(first) != labels_of(test->get(0)));
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 12; ++i) {
    for (const std::int64_t label : labels_of(train->get(i))) seen.insert(label);
  }
  CHECK(seen == std::set<std::int64_t>{0, 1, 2, 3, 4});
  // The same picture; pixels beside those of another class do not count.
  const auto edges = make_images(config(R"(, "ignore_edges": true)"), Split::kTrain);
  CHECK(image_of(edges->get(3)) == image_of(train->get(3)));
  const auto with = labels_of(edges->get(3)), without = labels_of(train->get(3));
  std::size_t ignored = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    ignored += with[i] == kIgnoreLabel ? 1 : 0;
    if (with[i] != kIgnoreLabel) CHECK(with[i] == without[i]);
    if (i % 20 != 0 && without[i] != without[i - 1]) CHECK(with[i] == kIgnoreLabel);
  }
  CHECK((ignored > 0 && ignored < with.size() / 2));
  CHECK(edges->recipe() != train->recipe());
}
