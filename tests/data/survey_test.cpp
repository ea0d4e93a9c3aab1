// One look at every sample: counts, statistics, and broken files that end nothing.
#include "data/survey.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "data/boxes/box_dataset.h"
#include "data/identity.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

Splits opened(const schema::Component& component) {
  return make_splits(component, {.survey = true});
}

Image grey(std::int64_t height, std::int64_t width, std::uint8_t value) {
  return {height, width, 1,
          std::vector<std::uint8_t>(static_cast<std::size_t>(height * width), value)};
}

}  // namespace

TEST_CASE("survey: images, their sizes, channels and broken files", "[data]") {
  const Folder folder;
  folder.write("train/cat/0.png", encode_png(grey(4, 4, 0)));
  folder.write("train/cat/1.png", encode_png(grey(4, 4, 51)));
  folder.write("train/dog/0.png", encode_png(grey(8, 4, 102)));
  folder.write("train/dog/1.png", "damaged");
  folder.write("test/cat/0.png", encode_png(grey(4, 4, 255)));
  const auto images = component("image_folder", folder.path, R"("img_size": 4, "in_chans": 1,
      "augment": ["random_resized_crop"])");
  const Splits splits = opened(images);
  const Survey found = survey(splits, 1);
  CHECK(found.hash == fingerprint(make_splits(images)).at("hash").as_string());
  CHECK(found.class_names == std::vector<std::string>{"cat", "dog"});
  REQUIRE(found.parts.size() == 2);
  const PartSurvey& train = found.parts[0];
  CHECK(train.name == "train");
  CHECK(train.samples == 3);
  CHECK(train.per_class == std::vector<std::int64_t>{2, 1});
  CHECK(train.sizes.at({4, 4}) == 2);
  CHECK(train.sizes.at({8, 4}) == 1);
  REQUIRE(train.bad.size() == 1);
  CHECK_THAT(train.bad[0], Catch::Contains("dog/1.png: is not a PNG"));
  CHECK(train.mean[0] == Approx(0.2));
  CHECK(train.std[0] == Approx(std::sqrt((0.04 + 0.0 + 0.04) / 3)));
  CHECK(found.parts[1].samples == 1);

  const schema::Value json = to_json(found);
  CHECK(json.at("parts").at("train").at("classes").at("cat").as_int() == 2);
  CHECK(json.at("parts").at("train").at("sizes").at(0).at("samples").as_int() == 2);
  CHECK(json.at("parts").at("train").at("bad").size() == 1);
  const std::string text = to_text(found);
  CHECK_THAT(text, Catch::Contains("train: 3 samples\n  classes     cat 2, dog 1\n"));
  CHECK_THAT(text, Catch::Contains("sides from 4 x 4 to 8 x 4; most often 4 x 4 (2 samples)"));
  CHECK_THAT(text, Catch::Contains("channels    mean 0.2000, std 0.1633"));
  CHECK_THAT(text, Catch::Contains("bad         1 samples\n    ") &&
                       Catch::Contains("dog/1.png: is not a PNG"));
}

TEST_CASE("survey: the same numbers for any number of threads, and progress to the end", "[data]") {
  const auto shapes = component(R"({"type": "synthetic", "train_size": 500, "test_size": 70})");
  const Splits splits = opened(shapes);
  std::int64_t last = 0;
  const auto json = [&](int threads) {
    last = 0;
    return to_json(survey(splits, threads, [&](std::int64_t done, std::int64_t total) {
      CHECK(total == 570);
      CHECK(done > last);
      last = done;
    }));
  };
  const schema::Value one = json(1);
  CHECK(last == 570);
  CHECK(json(3) == one);
  CHECK(last == 570);
  CHECK(one.at("parts").at("train").at("classes").at("disc").as_int() == 125);
}

TEST_CASE("survey: a part is left out where there is none, known bad samples are listed",
          "[data]") {
  const Folder folder;
  folder.write("train/cat/0.png", encode_png(pattern(4, 4, 3)));
  const Survey found = survey(opened(component("image_folder", folder.path)), 1);
  CHECK(found.parts.size() == 1);
  std::string images("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01\x07\x09", 18);
  folder.write("train-images-idx3-ubyte", images);
  folder.write("train-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x02\x01\x63", 10));
  folder.write("t10k-images-idx3-ubyte", images);
  folder.write("t10k-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x02\x01\x03", 10));
  const Survey mnist = survey(opened(component("mnist", folder.path)), 1);
  CHECK(mnist.parts[0].samples == 1);
  REQUIRE(mnist.parts[0].bad.size() == 1);
  CHECK_THAT(mnist.parts[0].bad[0], Catch::Contains("label 99 at position 1"));
}

TEST_CASE("survey: masks and maps of labels", "[data]") {
  const Folder folder;
  for (const char* name : {"a", "b", "c"}) {
    folder.write(std::string("images/") + name + ".png", encode_png(pattern(2, 2, 3)));
    folder.write(std::string("masks/") + name + ".png", encode_png({2, 2, 1, {0, 255, 255, 255}}));
    folder.write(std::string("maps/") + name + ".png", encode_png({2, 2, 1, {0, 1, 2, 9}}));
  }
  folder.write("masks/c.png", encode_png(grey(2, 2, 0)));
  folder.write("maps/c.png", encode_png(grey(2, 2, 1)));
  folder.write("splits/train.txt", "a\nb\nc\n");
  const Survey soft = survey(opened(component("paired_folder", folder.path)), 1);
  CHECK(soft.parts[0].foreground == Approx(0.5));
  CHECK(soft.parts[0].empty_masks == 1);
  CHECK_THAT(to_text(soft), Catch::Contains("foreground  50.00 % of the pixels; 1 masks without"));
  CHECK(to_json(soft).at("parts").at("train").at("masks_without_foreground").as_int() == 1);

  const Survey maps = survey(
      opened(component("paired_folder", folder.path, R"("masks": "maps", "mask_type": "labels",
          "classes": ["sky", "sea", "land"], "ignore_value": 9)")),
      1);
  CHECK(maps.parts[0].labels == std::vector<std::int64_t>{2, 6, 2});
  CHECK(maps.parts[0].ignored == 2);
  CHECK(maps.parts[0].empty_masks == 1);
  CHECK_THAT(to_text(maps),
             Catch::Contains("pixels      sky 2, sea 6, land 2\n  ignored     16.67"));
  CHECK(to_json(maps).at("parts").at("train").at("pixels").at("sea").as_int() == 6);
}

TEST_CASE("survey: lengths of texts, whole, and those without a word", "[data]") {
  const Folder folder;
  folder.write("train.csv",
               "text,label\none two three four,yes\none,no\n\"\"\"\",no\none two,no\n");
  const Survey found =
      survey(opened(component("text_csv", folder.path, R"("max_len": 2, "min_freq": 2)")), 1);
  const PartSurvey& train = found.parts[0];
  CHECK(train.lengths == std::vector<std::int64_t>{1, 2, 4});
  CHECK(train.unknown == 2);
  CHECK(train.per_class == std::vector<std::int64_t>{2, 1});
  REQUIRE(train.bad.size() == 1);
  CHECK_THAT(train.bad[0], Catch::EndsWith("train.csv:4: holds no word"));
  CHECK_THAT(to_text(found), Catch::Contains("words       1 to 4, median 2, mean 2.3"));
  CHECK(to_json(found).at("parts").at("train").at("words").at("unknown").as_int() == 2);
}

TEST_CASE("survey: objects of images with boxes", "[data]") {
  const auto drawn = component(R"({"type": "synthetic_boxes", "train_size": 130, "test_size": 9,
      "empty": 0.2, "crowds": 0.1, "img_size": 128})");
  const Splits splits = make_splits(drawn, {.survey = true});
  const Survey found = survey(splits, 2);
  CHECK(to_json(found) == to_json(survey(splits, 1)));
  REQUIRE(found.parts.at(0).objects);
  const ObjectSurvey& objects = *found.parts[0].objects;
  std::vector<std::int64_t> per_class(3, 0);
  std::int64_t empty = 0, crowds = 0, most = 0, count = 0;
  const BoxDataset& train = *find_boxes(*splits.train);
  CHECK(train.size() == 130);  // nothing is filtered
  for (std::int64_t i = 0; i < train.size(); ++i) {
    for (const BoxedObject& object : train.objects(i)) {
      ++per_class[static_cast<std::size_t>(object.label)];
      crowds += object.crowd ? 1 : 0;
      ++count;
    }
    empty += train.objects(i).empty() ? 1 : 0;
    most = std::max(most, std::ssize(train.objects(i)));
  }
  CHECK(objects.per_class == per_class);
  CHECK(objects.empty_images == empty);
  CHECK(empty > 10);
  CHECK(objects.crowds == crowds);
  CHECK(objects.most == most);
  CHECK(objects.by_size[0] + objects.by_size[1] + objects.by_size[2] == count);
  CHECK(objects.by_size[0] > 0);
  CHECK(objects.by_size[1] > 0);
  CHECK(found.parts[0].sizes.size() > 5);
  const std::string text = to_text(found);
  CHECK_THAT(text, Catch::Contains("objects     " + std::to_string(count) + ", at most " +
                                   std::to_string(most) + " of an image; " + std::to_string(empty) +
                                   " images without any"));
  CHECK_THAT(text, !Catch::Contains("foreground"));
  CHECK(to_json(found).at("parts").at("train").at("objects").at("images_without").as_int() ==
        empty);
}

TEST_CASE("survey: boxes that were left out are counted", "[data]") {
  const Folder folder;
  folder.write("annotations/instances_train2017.json",
               R"({"images": [{"id": 1, "file_name": "a.png", "height": 8, "width": 9}],
                   "categories": [{"id": 1, "name": "car"}], "annotations": [
                   {"image_id": 1, "category_id": 1, "bbox": [1, 1, 0, 3]},
                   {"image_id": 1, "category_id": 1, "bbox": [20, 1, 2, 3]},
                   {"image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 3]}]})");
  folder.write("train2017/a.png", encode_png(pattern(8, 9, 3)));
  const Survey found = survey(make_splits(component("coco", folder.path), {.survey = true}), 1);
  CHECK(found.parts.at(0).objects->skipped == 2);
  CHECK(found.parts[0].objects->per_class == std::vector<std::int64_t>{1});
  CHECK_THAT(to_text(found), Catch::Contains("left out    2 boxes without area or outside"));
}
