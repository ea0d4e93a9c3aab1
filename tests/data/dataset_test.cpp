// What holds for every data set: options, splits, limits, normalisation. The readers of the single
// formats are in readers_test.cpp.
#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "base/error.h"
#include "data/sets/drawn_scene.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

std::map<std::int64_t, int> class_counts(const Dataset& d) {
  std::map<std::int64_t, int> counts;
  for (std::int64_t i = 0; i < d.size(); ++i) ++counts[d.label(i)];
  return counts;
}

// A sample as a network sees it.
std::vector<float> seen(const Dataset& d, std::int64_t i, const Draw& draw) {
  return image_of(prepared(d, i, draw));
}

}  // namespace

TEST_CASE("datasets: every entry documents itself and shares the common keys", "[data]") {
  const std::vector<std::string> listed = {
#define FOVEA_DATASET_ENTRY(name) #name,
#include "data/datasets.def"
#undef FOVEA_DATASET_ENTRY
  };
  CHECK(listed.size() == 35);
  for (const std::string& name : listed) CHECK(datasets().find(name, "dataset").name == name);
  for (const DatasetEntry& entry : datasets()) {
    INFO(entry.name);
    CHECK_FALSE(entry.help.empty());
    CHECK(std::filesystem::exists(std::filesystem::path(fovea::test::source_dir()) / entry.page));
    for (const schema::Field& field : entry.fields->fields()) CHECK_FALSE(field.help.empty());
    REQUIRE(entry.fields->find("root") != nullptr);
    CHECK(entry.fields->find("root")->default_text() == "\"datasets/" + entry.name + "\"");
    const bool texts = entry.kind == Kind::kTexts || entry.kind == Kind::kStreams;
    CHECK((entry.fields->find("augment") != nullptr) == !texts);  // of volumes a switch
    CHECK((entry.fields->find("tokeniser") != nullptr) == texts);
  }
}

TEST_CASE("digits: size, split and first sample", "[data]") {
  const auto root = std::filesystem::path(fovea::test::source_dir()) / "datasets/digits";
  const auto train = make_images(component("digits", root), Split::kTrain);
  const auto test = make_images(component("digits", root), Split::kTest);
  CHECK(train->size() == 1442);
  CHECK(test->size() == 355);
  CHECK(train->num_classes() == 10);
  CHECK(train->fields()[0].shape == Shape{1, 8, 8});
  const Sample first = train->get(0);
  CHECK(first.at("label").item<std::int64_t>() == 0);
  CHECK(image_of(first)[2] == 5.0f / 16.0f);
  for (const auto& [label, count] : class_counts(*test)) CHECK(count >= 34);
  std::set<std::string> names;
  for (std::int64_t i = 0; i < train->size(); ++i) names.insert(train->name(i));
  for (std::int64_t i = 0; i < test->size(); ++i) names.insert(test->name(i));
  CHECK(names.size() == 1797);
  // The constants of the default normalisation are those of train.
  double sum = 0.0;
  double squares = 0.0;
  for (std::int64_t i = 0; i < train->size(); ++i) {
    for (const float v : seen(*train, i, {})) {
      sum += double{v};
      squares += double{v} * double{v};
    }
  }
  const double n = 1442.0 * 64.0;
  CHECK(sum / n == Approx(0.0).margin(3e-4));
  CHECK(squares / n == Approx(1.0).epsilon(5e-4));
}

TEST_CASE("synthetic: classes in turn, splits differ, everything repeats", "[data]") {
  const auto config = component(R"({"type": "synthetic", "num_classes": 10, "in_chans": 2,
                                    "img_size": 9, "train_size": 40, "test_size": 20})");
  const auto train = make_images(config, Split::kTrain);
  const auto test = make_images(config, Split::kTest);
  CHECK(train->size() == 40);
  CHECK(test->size() == 20);
  CHECK(train->channels() == 2);
  CHECK(train->height() == 9);
  CHECK(class_counts(*train) == class_counts(*make_images(config, Split::kTrain)));
  CHECK(class_counts(*train).size() == 10);
  CHECK(image_of(train->get(3)) == image_of(make_images(config, Split::kTrain)->get(3)));
  CHECK(image_of(train->get(3)) != image_of(test->get(3)));
  CHECK_THROWS_AS(train->get(40), ShapeError);
}

TEST_CASE("synthetic_scenes: one object in a landscape, splits differ, everything repeats",
          "[data]") {
  const auto config = component(R"({"type": "synthetic_scenes", "img_size": 40, "train_size": 12,
                                    "test_size": 6})");
  const auto train = make_images(config, Split::kTrain);
  const auto test = make_images(config, Split::kTest);
  CHECK(train->size() == 12);
  CHECK(test->size() == 6);
  CHECK(train->num_classes() == 6);
  CHECK(train->class_names()[3] == "car");
  CHECK(train->label(9) == 3);
  CHECK(image_of(train->get(3)) == image_of(make_images(config, Split::kTrain)->get(3)));
  CHECK(image_of(train->get(3)) != image_of(train->get(9)));
  CHECK(image_of(train->get(3)) != image_of(test->get(3)));
  // By the same numbers another object stands in the same landscape, at the same place.
  const Image house = drawn_scene(RandomStream(5), 0, 60),
              car = drawn_scene(RandomStream(5), 3, 60);
  std::size_t other = 0;
  for (std::size_t i = 0; i < house.pixels.size(); ++i) other += house.pixels[i] != car.pixels[i];
  CHECK(other > house.pixels.size() / 50);
  CHECK(other < house.pixels.size() / 3);
}

TEST_CASE("limit: class-balanced, and noise follows the sample, not its position", "[data]") {
  const auto all = make_images(component(R"({"type": "synthetic"})"), Split::kTrain);
  const auto few = make_images(component(R"({"type": "synthetic", "limit": {"train": 10, "test": 3},
                    "noise": {"train": {"preset": "noisy_train", "prob": 1}}})"),
                               Split::kTrain);
  CHECK(few->size() == 10);
  CHECK(class_counts(*few) == std::map<std::int64_t, int>{{0, 3}, {1, 3}, {2, 2}, {3, 2}});
  CHECK(make_images(component(R"({"type": "synthetic", "limit": {"test": 3}})"), Split::kTest)
            ->size() == 3);
  const auto more =
      make_images(component(R"({"type": "synthetic", "limit": {"train": 30}, "split": {"val": 0},
                    "noise": {"train": {"preset": "noisy_train", "prob": 1}}})"),
                  Split::kTrain);
  CHECK(few->source_index(9) == more->source_index(9));
  const Draw draw{.seed = 4, .epoch = 2, .augment = true};
  CHECK(seen(*few, 9, draw) == seen(*more, 9, draw));
  CHECK(seen(*few, 9, draw) != seen(*all, few->source_index(9), draw));
}

TEST_CASE("split.val: val and train part the training set", "[data]") {
  const auto config = component(R"({"type": "synthetic", "split": {"val": 0.25}})");
  const auto train = make_images(config, Split::kTrain);
  const auto val = make_images(config, Split::kVal);
  CHECK(train->size() == 384);
  CHECK(val->size() == 128);
  for (const auto& [label, count] : class_counts(*val)) CHECK(count == 32);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 384; ++i) seen.insert(train->source_index(i));
  for (std::int64_t i = 0; i < 128; ++i) seen.insert(val->source_index(i));
  CHECK(seen.size() == 512);
  CHECK(make_images(config, Split::kTest)->size() == 128);
  CHECK(has_part(config, Split::kVal));
  CHECK_FALSE(has_part(component(R"({"type": "synthetic"})"), Split::kVal));
  CHECK_THROWS_WITH(make_images(component(R"({"type": "synthetic"})"), Split::kVal),
                    Catch::Contains("no split \"val\"; set dataset.split.val"));
}

TEST_CASE("prepare: scale, then augmentation and noise, then normalisation", "[data]") {
  const auto plain =
      make_images(component(R"({"type": "synthetic", "normalise": false})"), Split::kTrain);
  CHECK(seen(*plain, 5, {}) == image_of(plain->get(5)));
  const auto centred = make_images(
      component(R"({"type": "synthetic", "mean": [0.5], "std": [0.25, 0.5, 1]})"), Split::kTrain);
  const auto x = seen(*centred, 5, {});
  const auto raw = image_of(centred->get(5));
  CHECK(x[0] == Approx((raw[0] - 0.5f) / 0.25f));
  CHECK(x[256] == Approx((raw[256] - 0.5f) / 0.5f));
  CHECK(x[512] == Approx(raw[512] - 0.5f));
  // Brightness 0.99 saturates before the mean is removed.
  const auto bright = seen(*centred, 5, {.corruption = NoiseLevel{"brightness", 0.99}});
  CHECK(bright[0] == Approx(2.0f).margin(0.05));
  CHECK(*std::max_element(bright.begin(), bright.begin() + 256) <= 2.0f);
}

TEST_CASE("prepare: randomness is one of seed, split, epoch and sample", "[data]") {
  const std::string more = R"(, "train_size": 8, "test_size": 8, "augment": ["crop_flip"],
      "noise": {"train": {"types": ["gaussian"], "levels": [0.3], "prob": 1.0}}})";
  const auto d = make_images(component(R"({"type": "synthetic")" + more), Split::kTrain);
  const Draw draw{.seed = 1, .epoch = 3, .augment = true};
  const auto reference = seen(*d, 2, draw);
  CHECK(seen(*d, 2, draw) == reference);
  CHECK(seen(*d, 2, {.seed = 2, .epoch = 3, .augment = true}) != reference);
  CHECK(seen(*d, 2, {.seed = 1, .epoch = 4, .augment = true}) != reference);
  // Evaluation is untouched by the training settings.
  const auto plain =
      make_images(component(R"({"type": "synthetic", "train_size": 8})"), Split::kTrain);
  CHECK(seen(*d, 2, {}) == seen(*plain, 2, {}));
}

TEST_CASE("eval noise: the grid of types and levels", "[data]") {
  const auto d = make_images(
      component(R"({"type": "synthetic", "noise": {"eval": {"types": ["shot", "contrast"],
                    "levels": [0.1, 0.4]}}})"),
      Split::kTest);
  CHECK(d->eval_noise().types == std::vector<std::string>{"shot", "contrast"});
  CHECK(d->eval_noise().levels == std::vector{0.1, 0.4});
  CHECK(d->noise_types().size() == all_corruptions().size());
  const auto clean = seen(*d, 0, {});
  CHECK(seen(*d, 0, {.corruption = NoiseLevel{"shot", 0.1}}) != clean);
  CHECK(seen(*d, 0, {.corruption = NoiseLevel{"shot", 0.1}}) !=
        seen(*d, 0, {.corruption = NoiseLevel{"shot", 0.4}}));
}

TEST_CASE("dataset options: what is wrong is refused with its place", "[data]") {
  const auto refused = [](const std::string& json, const std::string& part) {
    INFO(json);
    CHECK_THROWS_WITH(make_images(component(json), Split::kTrain), Catch::Contains(part));
    CHECK_THROWS_AS(make_images(component(json), Split::kTrain), ConfigError);
  };
  refused(R"({"type": "cifar11"})", "did you mean \"cifar10\"?");
  refused(R"({"type": "synthetic", "limits": {}})", "did you mean \"limit\"?");
  refused(R"({"type": "synthetic", "limit": {"train": 0}})", "dataset.limit.train");
  const auto cut = [&](const std::string& keys, const std::string& part) {
    refused(R"({"type": "synthetic", "split": {)" + keys + "}}", part);
  };
  cut(R"("val": 1)", "dataset.split.val");
  cut(R"("val": 0.5, "test": 0.5)", "expected a sum below 1");
  for (const char* fold : {"5/5", "-1/5", "1", "1/", "/5", "1/1", "1/5 ", "a/b", "0.5/5"})
    cut(R"("fold": ")" + std::string(fold) + "\"", "expected \"i/k\" with i from 0 to k - 1");
  cut(R"("fold": "0/5", "val": 0.1)", "val and fold are both given");
  cut(R"("by_group": "(")", "expected \"folder\" or a regular expression");
  cut(R"("val": 0.1, "by_group": "patient")", "finds nothing in synthetic train:0");
  cut(R"("fold": "0/600")", "600 folds of 512 samples");
  refused(R"({"type": "synthetic", "mean": [0.1, 0.2]})", "2 values for images of 3 channels");
  refused(R"({"type": "synthetic", "std": [0.0]})", "dataset.std");
  refused(R"({"type": "synthetic", "augment": ["fliip"]})", "fliip");
  refused(R"({"type": "synthetic", "noise": {"train": {"types": ["gausian"]}}})", "gausian");
  refused(R"({"type": "synthetic", "noise": {"train": {"levels": [1.0]}}})", "levels");
  refused(R"({"type": "synthetic",
              "noise": {"train": {"preset": "noisy_train", "types": ["shot"]}}})",
          "preset and types are both given");
  refused(R"({"type": "synthetic", "on_bad_sample": "ignore"})", "on_bad_sample");
  refused(R"({"type": "image_folder", "in_chans": 2})", "expected 1 or 3");
}

TEST_CASE("splits: names", "[data]") {
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
    CHECK(split_from_name(name_of(split)) == split);
  }
  CHECK_THROWS_WITH(split_from_name("valid"), "dataset: has no split \"valid\"");
}
