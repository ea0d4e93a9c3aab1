// Scenes: pictures of sizes of their own, scored at the size of their files (mala 7.3).
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>

#include "data/files/pictures/image_file.h"
#include "data/registry.h"
#include "models/model.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/tasks/segmentation/segmentation.h"

using namespace fovea;
using training::BatchSource;
using training::LabelSegmentation;

namespace {

// Three values in stripes; the picture has the value of the label.
void write_scene(const std::filesystem::path& root, const std::string& part, int i,
                 std::int64_t height, std::int64_t width) {
  data::Image picture{height, width, 3, {}}, labels{height, width, 1, {}};
  for (std::int64_t p = 0; p < height * width; ++p) {
    const auto label = static_cast<std::uint8_t>(p % width / 5 % 3);
    labels.pixels.push_back(label);
    picture.pixels.insert(picture.pixels.end(), 3, static_cast<std::uint8_t>(80 * label));
  }
  const std::string name = "s" + std::to_string(i) + ".png";
  for (const char* kind : {"images", "annotations"})
    std::filesystem::create_directories(root / kind / part);
  data::write_png(root / "images" / part / name, picture);
  data::write_png(root / "annotations" / part / name, labels);
}

std::unique_ptr<models::Model> small_semantic_fpn() {
  const schema::Component chosen = test::component(
      R"({"type": "semantic_fpn", "neck_channels": 4, "channels": 4,
          "backbone": {"type": "pvt_v2_b0", "embed_dims": [4, 4], "depths": [1, 1],
                       "num_heads": [1, 1], "mlp_ratios": [2, 2], "sr_ratios": [2, 1]}})");
  const models::Entry& entry = models::entries().find(chosen.type);
  return models::make_model(
      {chosen.type, entry.fields->resolve_component(chosen.options, "model")},
      {test::cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch},
      {.channels = 3, .height = 16, .width = 16, .num_classes = 150, .label_maps = true});
}

}  // namespace

TEST_CASE("scenes: whole pictures of any size are evaluated, every pixel of a file counts once",
          "[training]") {
  const test::Folder folder("scenes");
  for (int i = 0; i < 4; ++i) write_scene(folder.path, "training", i, 20 + i, 30);
  write_scene(folder.path, "validation", 0, 21, 40);
  write_scene(folder.path, "validation", 1, 50, 23);
  schema::Component set = test::component(
      R"({"type": "ade20k", "img_size": 16, "longest": 48,
          "augment": [{"type": "random_rescale", "shorter": 16, "longer": 48},
                      {"type": "random_class_crop", "size": [16, 16]}, "horizontal_flip",
                      "photometric_distortion", {"type": "pad", "size": [16, 16]}]})");
  set.options.set("root", folder.path.string());
  training::BatchOptions options;
  options.train.batch_size = 2;
  options.train.eval_batch_size = 2;
  options.host = test::cpu();
  const auto source = std::make_shared<BatchSource>(data::make_splits(set), options);
  const auto model = small_semantic_fpn();
  LabelSegmentation task(*model, source,
                         test::component(R"({"type": "cross_entropy", "count_ignored": true})"));
  task.add_metrics({.names = {}, .size = metrics::ScoreSize::kOriginal});
  model->train(false);
  const auto result = task.evaluate_in_full(data::Split::kVal);
  REQUIRE(result.pixels.size() == 2);
  const auto counted = [](std::int64_t height, std::int64_t width) {
    std::int64_t pixels = 0;
    for (std::int64_t x = 0; x < width; ++x) pixels += x / 5 % 3 != 0 ? height : 0;
    return pixels;
  };
  CHECK(result.pixels[0] == counted(21, 40));
  CHECK(result.pixels[1] == counted(50, 23));
  for (const char* name : {"loss", "miou", "accuracy"})
    CHECK(std::isfinite(metrics::value_of(result.metrics, name)));
  // No class is the background: the first can be asked for.
  task.add_metrics({.names = {"case_dice"}, .classes = {"wall"}});
  const auto of_wall = task.evaluate_in_full(data::Split::kVal);
  CHECK(metrics::value_of(of_wall.metrics, "case_dice") ==
        metrics::value_of(of_wall.metrics, "case_dice_wall"));
  const training::Report report = task.report({data::Split::kVal});
  CHECK(report.details.at("images_without_foreground").at("in_truth").as_int() == 0);
}

TEST_CASE("scenes: a few steps of a small SemanticFPN lower the loss", "[training]") {
  const test::Folder folder("scenes_learn"), run("scenes_run");
  for (int i = 0; i < 8; ++i) write_scene(folder.path, "training", i, 18 + i, 30);
  write_scene(folder.path, "validation", 0, 21, 40);
  schema::Component set = test::component(
      R"({"type": "ade20k", "img_size": 16, "longest": 48,
          "augment": [{"type": "random_rescale", "shorter": 16, "longer": 48},
                      {"type": "random_class_crop", "size": [16, 16]},
                      {"type": "pad", "size": [16, 16]}]})");
  set.options.set("root", folder.path.string());
  training::BatchOptions options;
  options.train.batch_size = 4;
  options.host = test::cpu();
  const auto source = std::make_shared<BatchSource>(data::make_splits(set), options);
  const auto model = small_semantic_fpn();
  LabelSegmentation task(*model, source,
                         test::component(R"({"type": "cross_entropy", "count_ignored": true})"));
  model->train(false);
  const double before = metrics::value_of(task.measure(data::Split::kVal, {}), "loss");
  training::TrainerSetup trainer = test::toy_setup(run.path, test::cpu());
  trainer.optimizer = test::component(R"({"type": "adamw", "lr": 0.01})");
  trainer.train.epochs = 50;
  training::Trainer(task, trainer).run();
  model->train(false);
  const double after = metrics::value_of(task.measure(data::Split::kVal, {}), "loss");
  CHECK(before > 3);  // a third of the pixels is ignored and counts 0
  CHECK(after < 0.5 * before);
}
