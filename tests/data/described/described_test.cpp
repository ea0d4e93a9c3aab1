// Data sets that are known by what lies beside weights: no file of theirs is opened.
#include <catch2/catch.hpp>

#include <optional>

#include "base/error.h"
#include "data/audio/speech_dataset.h"
#include "data/described/sample_infos.h"
#include "data/images/image_dataset.h"
#include "data/registry.h"
#include "data/volumes/volume_dataset.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

// As a checkpoint keeps it.
std::shared_ptr<const WeightFiles> beside_weights(const Dataset& dataset) {
  WeightFiles beside{dataset.weight_files(), "run/checkpoints/last"};
  beside.files[kDescriptionFile] = description_text(dataset.description());
  return std::make_shared<const WeightFiles>(std::move(beside));
}

std::shared_ptr<const Dataset> described(const schema::Component& component,
                                         std::shared_ptr<const WeightFiles> beside,
                                         std::optional<std::int64_t> num_classes = {}) {
  return make_splits(
             component,
             {.parts = OpenParts::kNone, .weights = std::move(beside), .num_classes = num_classes})
      .described;
}

}  // namespace

TEST_CASE("described data: pictures are prepared as those of the data set", "[data]") {
  const Folder folder;
  for (const char* name : {"train/cat/0.png", "train/dog/0.png", "test/cat/0.png"})
    folder.write(name, encode_png(pattern(9, 12, 3, name[6])));
  const Folder own;
  const auto picture = own.write("own.png", encode_png(pattern(20, 14, 3, 5)));
  const schema::Component set = component(
      "image_folder", folder.path,
      R"("img_size": 8, "crop_pct": 0.9, "interpolation": "bicubic", "std": [0.5, 0.25, 0.2])");
  const Splits opened = make_splits(set);
  const auto beside = beside_weights(*opened.train);
  const Tensor expected = images_of(*opened.train).get_file(picture).at("image");
  std::filesystem::remove_all(folder.path);
  const auto known = described(set, beside);
  CHECK(known->size() == 0);
  CHECK(known->class_names() == std::vector<std::string>{"cat", "dog"});
  const ImageDataset& images = images_of(*known);
  CHECK(floats(images.get_file(picture).at("image")) == floats(expected));
  CHECK(std::vector<double>(images.std().begin(), images.std().end()) ==
        std::vector<double>{0.5, 0.25, 0.2});
  CHECK_THROWS_AS(make_splits(set), FileError);
}

TEST_CASE("described data: every kind says what its samples are like", "[data]") {
  const char* set = GENERATE(
      R"({"type": "synthetic", "img_size": 8, "train_size": 8, "test_size": 4})",
      R"({"type": "synthetic_segmentation", "num_classes": 3, "img_size": 8, "train_size": 4,
          "test_size": 2})",
      R"({"type": "synthetic_scenes", "train_size": 2, "test_size": 2})",
      R"({"type": "synthetic_boxes", "img_size": 64, "train_size": 4, "test_size": 2})",
      R"({"type": "synthetic_volumes", "img_size": [4, 8, 8], "train_size": 2, "test_size": 1})",
      R"({"type": "synthetic_speech", "units": "words", "train_size": 4, "test_size": 2})");
  INFO(set);
  const schema::Component chosen = component(set);
  const Splits opened = make_splits(chosen);
  const auto known = described(chosen, beside_weights(*opened.test));
  CHECK(known->class_names() == opened.test->class_names());
  CHECK(known->output_names() == opened.test->output_names());
  CHECK(known->has_background() == opened.test->has_background());
  CHECK(known->description() == opened.test->description());
  CHECK(known->weight_files() == opened.test->weight_files());
  SampleShape shape = opened.test->shape();
  shape.frames = 0;  // of the longest recording
  CHECK(known->shape() == shape);
  REQUIRE(known->fields().size() == opened.test->fields().size());
  for (std::size_t i = 0; i < known->fields().size(); ++i) {
    CHECK(known->fields()[i].name == opened.test->fields()[i].name);
    CHECK(known->fields()[i].rule == opened.test->fields()[i].rule);
    CHECK(known->fields()[i].shape == opened.test->fields()[i].shape);
  }
}

TEST_CASE("described data: a plan that the options contradict is refused", "[data][volumes]") {
  const auto set = [](const std::string& more) {
    return component(R"({"type": "synthetic_volumes", "train_size": 2,
        "test_size": 1, "img_size": [4, 8, 8])" +
                     more + "}");
  };
  const auto beside = beside_weights(*make_splits(set("")).train);
  CHECK_NOTHROW(described(set(""), beside));
  CHECK_THROWS_WITH(described(set(R"(, "spacing": [9, 9, 9])"), beside),
                    Catch::Contains("dataset.spacing: is 9 9 9, but the weights were trained") &&
                        Catch::Contains("plan.json"));
}

TEST_CASE("described data: only the part that is reported is opened", "[data]") {
  const Folder folder;
  for (const char* name : {"train/cat/0.png", "train/dog/0.png", "test/cat/0.png"})
    folder.write(name, encode_png(pattern(4, 4, 3, name[6])));
  const Splits splits =
      make_splits(component("image_folder", folder.path), {.parts = OpenParts::kReported});
  CHECK(splits.train == nullptr);
  CHECK(splits.val == nullptr);
  REQUIRE(splits.test != nullptr);
  CHECK(splits.test->size() == 1);
}

TEST_CASE("described data: a test part alone is read by the classes of weights", "[data]") {
  const Folder folder, other;
  for (const char* name : {"train/cat/0.png", "train/dog/0.png", "test/cat/0.png"})
    folder.write(name, encode_png(pattern(4, 6, 3, name[6])));
  other.write("test/dog/0.png", encode_png(pattern(4, 6, 3, 1)));
  const auto beside = beside_weights(*make_splits(component("image_folder", folder.path)).train);
  const schema::Component set = component("image_folder", other.path);
  const MakeOptions reported{.parts = OpenParts::kReported, .weights = beside};
  const auto test = make_splits(set, reported).test;
  CHECK(test->label(0) == 1);
  CHECK(test->class_names() == std::vector<std::string>{"cat", "dog"});
  CHECK(test->shape().width == 6);
  CHECK_THROWS_WITH(make_splits(set, {.parts = OpenParts::kReported}),
                    Catch::Contains("train: not found"));
  other.write("test/fox/0.png", encode_png(pattern(4, 6, 3, 1)));
  CHECK_THROWS_WITH(make_splits(set, reported),
                    Catch::Contains("none of the classes trained on has this name"));

  const Folder texts, other_texts;
  for (const char* name : {"train/bad/0.txt", "train/good/0.txt", "test/bad/0.txt"})
    texts.write(name, std::string("a film"));
  other_texts.write("test/good/0.txt", std::string("a film"));
  const auto words = beside_weights(*make_splits(component("text_folder", texts.path)).train);
  const Splits alone = make_splits(component("text_folder", other_texts.path),
                                   {.parts = OpenParts::kReported, .weights = words});
  CHECK(alone.test->label(0) == 1);
}

TEST_CASE("described data: what is damaged or of another kind is refused", "[data]") {
  const schema::Component set = component(R"({"type": "synthetic"})");
  const auto refuses = [&](const std::string& text, const std::string& complaint) {
    const auto beside =
        std::make_shared<const WeightFiles>(WeightFiles{{{kDescriptionFile, text}}, "run"});
    CHECK_THROWS_AS(described(set, beside), FileError);
    CHECK_THROWS_WITH(described(set, beside), Catch::Contains(complaint));
  };
  refuses("{", "run/data.json: damaged");
  refuses(R"({"format": 2, "samples": {}})", "is of format 2; this program reads 1");
  refuses(R"({"format": 1, "samples": {"texts": {}}})", "describes no images");
  refuses(R"({"format": 1, "samples": {"images": {"hight": 3}}})", "height");
  refuses(R"({"format": 1, "samples": {"images": {"class_names": ["a"], "label_values": [1, 2],
              "height": 8, "width": 8}}})",
          "label_values has 2 numbers; expected 1");
  const auto named = [](const char* names) {
    return fmt::format(
        R"({{"format": 1, "samples": {{"images": {{"class_names": {}, "height": 8, "width": 8}}}}}})",
        names);
  };
  refuses(named(R"(["a", "b", "a"])"), "two classes are called \"a\"");
  refuses(named(R"(["a", ""])"), "class 1 has an empty name");
}

TEST_CASE("described data: sets without such files are known where options say enough", "[data]") {
  const schema::Component folders =
      component(R"({"type": "image_folder", "root": "/nowhere", "img_size": 8, "in_chans": 3})");
  const auto nothing = std::make_shared<const WeightFiles>();
  CHECK_FALSE(known_without_files(folders, {.weights = nothing}));  // how many classes?
  const auto known = described(folders, nothing, 3);
  CHECK(known->class_names() == std::vector<std::string>{"0", "1", "2"});
  CHECK(known->shape().height == 8);
  CHECK(described(folders, nothing, 0)->class_names().empty());  // of a network without a head
  CHECK_THROWS_WITH(described(component(R"({"type": "nnunet"})"), nothing, 3),
                    Catch::Contains("nothing says what samples of nnunet are like"));
}
