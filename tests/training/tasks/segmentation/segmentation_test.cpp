#include "training/tasks/segmentation/segmentation.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "data/files/pictures/image_file.h"
#include "data/registry.h"
#include "nn/convolution.h"
#include "ops/elementwise.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/tasks/classification.h"

using namespace fovea;
using training::BatchOptions;
using training::BatchSource;
using training::MaskSegmentation;

namespace {

// One convolution.
class TinyNetwork final : public models::ModelOf<models::Interface::kDenseNetwork> {
 public:
  explicit TinyNetwork(const nn::Build& build)
      : conv_(child<nn::Conv2d>("conv", build, 3, 1, ops::Sizes{3},
                                ops::ConvOptions{.padding = {1}})) {}
  std::string type() const override { return "TinyNetwork"; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe*) override {
    return {.maps = {conv_(in.image)}};
  }

 private:
  nn::Conv2d& conv_;
};

// Bright squares to be found: 6 to train on, 3 to test.
void write_squares(const test::Folder& folder) {
  for (const char* part : {"images", "masks", "splits"}) io::make_directories(folder.path / part);
  std::string train, test;
  for (int n = 0; n < 9; ++n) {
    data::Image image{12, 12, 3, std::vector<std::uint8_t>(12 * 12 * 3, 40)};
    data::Image mask{12, 12, 1, std::vector<std::uint8_t>(12 * 12, 0)};
    for (int i = 0; i < 25; ++i) {
      const auto at = static_cast<std::size_t>((n % 6 + i / 5) * 12 + 2 + n % 5 + i % 5);
      mask.pixels[at] = 255;
      image.pixels[3 * at] = 220;
    }
    const std::string name = "s" + std::to_string(n);
    data::write_png(folder.path / "images" / (name + ".png"), image);
    data::write_png(folder.path / "masks" / (name + ".png"), mask);
    (n < 6 ? train : test) += name + "\n";
  }
  io::write_atomic(folder.path / "splits/train.txt", train);
  io::write_atomic(folder.path / "splits/test.txt", test);
}

std::shared_ptr<const data::Dataset> squares(const test::Folder& folder, data::Split split) {
  return data::make_dataset(
      test::component(R"({"type": "paired_folder", "augment": ["horizontal_flip"], "root": ")" +
                      folder.path.string() + "\"}"),
      split);
}

std::shared_ptr<BatchSource> batches(const test::Folder& folder, std::int64_t eval_batch = 0) {
  BatchOptions options;
  options.train.batch_size = 4;
  options.train.eval_batch_size = eval_batch;
  options.host = test::cpu();
  return std::make_shared<BatchSource>(data::Splits{squares(folder, data::Split::kTrain), nullptr,
                                                    squares(folder, data::Split::kTest)},
                                       options);
}

}  // namespace

TEST_CASE("segmentation: a network learns, and the best weights are those of the highest Dice",
          "[training]") {
  const test::Folder data("squares"), run("segmentation");
  write_squares(data);
  TinyNetwork model({test::cpu(), DType::kFloat32, RandomStream(1), {}});
  MaskSegmentation task(model, batches(data));
  CHECK(task.monitor().name == "pooled_dice");  // as of maps of labels
  CHECK(task.monitor().larger_is_better);
  CHECK(task.metrics() == metrics::infos_of(task.measure(data::Split::kTest, {})));
  training::TrainerSetup trainer = test::toy_setup(run.path, test::cpu());
  trainer.optimizer = test::component(R"({"type": "adamw", "lr": 0.1})");
  trainer.train.epochs = 30;
  trainer.train.select_on = training::SelectOn::kTest;
  training::Trainer(task, trainer).run();
  const schema::Value summary = schema::parse(io::read_text(run.path / "summary.json"), "summary");
  CHECK(summary.at("metrics").at("test").at("pooled_dice").as_double() > 90);
  CHECK(summary.at("best").at("metric").as_string() == "pooled_dice");
  CHECK(summary.at("best").at("value") == summary.at("metrics").at("test").at("pooled_dice"));
  CHECK(summary.at("selected_on").as_string() == "test");
}

TEST_CASE("segmentation: metrics are of the whole split, for any batch size", "[training]") {
  const test::Folder data("squares");
  write_squares(data);
  TinyNetwork model({test::cpu(), DType::kFloat32, RandomStream(1), {}});
  model.train(false);
  const auto evaluate = [&](std::int64_t batch) {
    return MaskSegmentation(model, batches(data, batch)).evaluate_in_full(data::Split::kTest);
  };
  const auto one = evaluate(1);
  const auto all = evaluate(2);
  CHECK(one.metrics[0].value == Approx(all.metrics[0].value).epsilon(1e-6));
  CHECK(one.counts.dice() == all.counts.dice());
  CHECK(one.counts.total() == 3 * 144);
  metrics::MaskCounts sum;
  for (const auto& counts : one.by_sample) sum.add(counts);
  CHECK(sum.iou() == one.counts.iou());

  const auto value = [&](const char* name) { return metrics::value_of(one.metrics, name); };
  // By hand, from the counts of each image.
  double dice = 0, iou = 0;
  for (const auto& c : one.by_sample) {
    const auto tp = static_cast<double>(c.true_positives());
    const auto errors = static_cast<double>(c.false_positives() + c.false_negatives());
    dice += 100 * 2 * tp / (2 * tp + errors) / 3;
    iou += 100 * tp / (tp + errors) / 3;
  }
  const auto tp = static_cast<double>(sum.true_positives());
  const auto tn = static_cast<double>(sum.true_negatives());
  const auto errors = static_cast<double>(sum.false_positives() + sum.false_negatives());
  CHECK(value("dice_per_image") == Approx(dice));
  CHECK(value("iou_per_image") == Approx(iou));
  CHECK(value("pooled_iou") == Approx(100 * tp / (tp + errors)));
  CHECK(value("miou") == Approx(50 * (tp / (tp + errors) + tn / (tn + errors))));
  CHECK(value("pooled_dice") == Approx(100 * 2 * tp / (2 * tp + errors)));
  CHECK(one.truth_empty == 0);

  MaskSegmentation task(model, batches(data));
  metrics::MaskCounts counts;
  counts.add(task.predict(data::Split::kTest, 1).values<float>(),
             squares(data, data::Split::kTest)->get(1).at("mask").values<float>());
  CHECK(counts.dice() == one.by_sample[1].dice());
}

TEST_CASE("segmentation: an image without foreground counts whole or not at all", "[training]") {
  const test::Folder data("squares");
  write_squares(data);
  data::write_png(data.path / "masks/s7.png", {12, 12, 1, std::vector<std::uint8_t>(12 * 12, 0)});
  TinyNetwork model({test::cpu(), DType::kFloat32, RandomStream(1), {}});
  model.train(false);
  const auto per_image = [&](double bias) {
    for (const nn::NamedTensor& parameter : model.parameters()) {
      for (float& value : parameter.tensor.values<float>()) {
        value = parameter.name == "conv.bias" ? static_cast<float>(bias) : 0.0f;
      }
    }
    const auto result = MaskSegmentation(model, batches(data)).evaluate_in_full(data::Split::kTest);
    CHECK(result.truth_empty == 1);
    CHECK(result.both_empty == (bias < 0 ? 1 : 0));
    for (const metrics::Measurement& metric : result.metrics) {
      if (metric.info.name != "dice_per_image") continue;
      REQUIRE(metric.per_sample.size() == 3);
      CHECK(metric.per_sample[1] == (bias < 0 ? 100 : 0));  // the one without foreground
      return metric.value;
    }
    return -1.0;
  };
  // Nothing predicted: right for the empty one of three. All predicted: 25 of 144 in the others.
  CHECK(per_image(-9) == Approx(100.0 / 3));
  CHECK(per_image(9) == Approx(100 * 2 * (50.0 / 169) / 3));
}

TEST_CASE("segmentation: losses and data that do not fit the task are refused", "[training]") {
  const test::Folder data("squares");
  write_squares(data);
  TinyNetwork model({test::cpu(), DType::kFloat32, RandomStream(1), {}});
  CHECK_THROWS_WITH(MaskSegmentation(model, batches(data), {"cross_entropy", {}}),
                    Catch::Contains("cross_entropy does not compare masks; choose bce_dice"));
  CHECK_THROWS_WITH(
      training::Classification(model, batches(data)),
      Catch::Contains("needs samples with \"label\", but those of the data set have image, mask"));
  const data::Splits labelled{
      data::make_dataset(test::component(R"({"type": "synthetic", "img_size": 8})"),
                         data::Split::kTrain),
      nullptr, nullptr};
  BatchOptions options;
  options.host = test::cpu();
  CHECK_THROWS_WITH(
      MaskSegmentation(model, std::make_shared<BatchSource>(labelled, options)),
      Catch::Contains("needs samples with \"mask\", but those of the data set have image, label"));
}
