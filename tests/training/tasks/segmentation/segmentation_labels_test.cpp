// Segmentation into several classes.
#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>

#include "base/error.h"
#include "data/registry.h"
#include "nn/convolution.h"
#include "ops/losses/loss.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/tasks/segmentation/segmentation.h"
#include "training/tasks/task_registry.h"

using namespace fovea;
using training::BatchSource;
using training::LabelSegmentation;

namespace {

constexpr std::int64_t kClasses = 4;

// One convolution.
class OneConvolution final : public models::ModelOf<models::Interface::kDenseNetwork> {
 public:
  explicit OneConvolution(std::int64_t maps, bool says = true)
      : conv_(child<nn::Conv2d>("conv",
                                nn::Build{test::cpu(), DType::kFloat32, RandomStream(1), {}}, 3,
                                maps, ops::Sizes{3}, ops::ConvOptions{.padding = {1}})),
        maps_(says ? maps : 0) {}
  std::string type() const override { return "OneConvolution"; }
  std::int64_t num_maps() const override { return maps_; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe*) override {
    return {.maps = {conv_(in.image)}};
  }

 private:
  nn::Conv2d& conv_;
  std::int64_t maps_;
};

std::shared_ptr<BatchSource> shapes(std::int64_t eval_batch = 0, const std::string& more = "") {
  training::BatchOptions options;
  options.train.batch_size = 4;
  options.train.eval_batch_size = eval_batch;
  options.host = test::cpu();
  const schema::Component set = test::component(
      R"({"type": "synthetic_segmentation", "num_classes": 4, "img_size": 16, "train_size": 24,
          "test_size": 7, "ignore_edges": true)" +
      more + "}");
  return std::make_shared<BatchSource>(data::make_splits(set), options);
}

double value(const training::Metrics& metrics, const char* name) {
  return metrics::value_of(metrics, name);
}

}  // namespace

TEST_CASE(
    "label segmentation: a network learns, and the best weights are those of the highest Dice",
    "[training]") {
  const test::Folder run("label_segmentation");
  OneConvolution model(kClasses);
  LabelSegmentation task(model, shapes());
  CHECK(task.monitor() == metrics::kPooledDice);
  CHECK(task.metrics() == metrics::infos_of(task.measure(data::Split::kTest, {})));
  training::TrainerSetup trainer = test::toy_setup(run.path, test::cpu());
  trainer.optimizer = test::component(R"({"type": "adamw", "lr": 0.05})");
  trainer.train.epochs = 20;
  trainer.train.select_on = training::SelectOn::kTest;
  training::Trainer(task, trainer).run();
  const schema::Value summary = schema::parse(io::read_text(run.path / "summary.json"), "summary");
  const schema::Value& test = summary.at("metrics").at("test");
  CHECK(test.at("pooled_dice").as_double() > 80);
  CHECK(test.at("pooled_dice_cross").as_double() > 60);
  CHECK(summary.at("best").at("metric").as_string() == "pooled_dice");
}

TEST_CASE("label segmentation: metrics are of the whole split, for any batch size", "[training]") {
  OneConvolution model(kClasses);
  model.train(false);
  const auto evaluate = [&](std::int64_t batch) {
    return LabelSegmentation(model, shapes(batch)).evaluate_in_full(data::Split::kTest);
  };
  const auto one = evaluate(1), all = evaluate(5);
  REQUIRE(one.metrics.size() == all.metrics.size());
  for (std::size_t i = 0; i < one.metrics.size(); ++i) {
    INFO(one.metrics[i].info.name);
    CHECK(one.metrics[i].value == Approx(all.metrics[i].value).epsilon(1e-6));
  }
  CHECK(one.confusion.counts() == all.confusion.counts());
  // By hand, from the maps and the labels.
  const auto source = shapes();
  LabelSegmentation task(model, source);
  std::int64_t right = 0, pixels = 0;
  double loss = 0;
  for (std::int64_t i = 0; i < 7; ++i) {
    const data::Batch sample = source->one(data::Split::kTest, i);
    const Tensor map = task.output(sample).maps.front();
    const auto labels = sample.at("mask").values<std::int64_t>();
    const auto logits = map.host_values<float>();
    for (std::size_t p = 0; p < labels.size(); ++p) {
      if (labels[p] == data::kIgnoreLabel) continue;
      std::size_t best = 0;
      for (std::size_t k = 1; k < kClasses; ++k)
        if (logits[k * 256 + p] > logits[best * 256 + p]) best = k;
      ++pixels;
      right += static_cast<std::int64_t>(best) == labels[p] ? 1 : 0;
    }
    loss += (ops::label_dice(map, sample.at("mask")).item<float>() +
             ops::pixel_cross_entropy(map, sample.at("mask")).item<float>()) /
            7.0;
  }
  CHECK(pixels < 7 * 256);  // edges are ignored
  CHECK(one.confusion.total() == pixels);
  CHECK(value(one.metrics, "accuracy") ==
        Approx(100 * static_cast<double>(right) / static_cast<double>(pixels)));
  CHECK(value(one.metrics, "loss") == Approx(loss).epsilon(1e-5));
  const Tensor prob = task.predict(data::Split::kTest, 3);
  CHECK(prob.shape() == Shape{kClasses, 16, 16});
  double sum = 0;
  for (const float p : prob.values<float>()) sum += p;
  CHECK(sum == Approx(256));
}

TEST_CASE("label segmentation: windows give a convolution's own scores", "[training]") {
  OneConvolution model(kClasses);
  model.train(false);
  LabelSegmentation task(model, shapes());
  const auto whole = task.evaluate_in_full(data::Split::kTest);
  // A 1 x 1 network would not see borders at all; of this one the outermost row is cut by windows,
  // so windows that overlap by half give nearly the same.
  task.set_inferer(training::make_inferer(test::component(
      R"({"type": "sliding_window", "roi_size": [8], "overlap": 0.5, "mode": "gaussian"})")));
  const auto windows = task.evaluate_in_full(data::Split::kTest);
  CHECK(value(windows.metrics, "loss") == Approx(value(whole.metrics, "loss")).epsilon(0.05));
  CHECK(value(windows.metrics, "loss") != value(whole.metrics, "loss"));
  CHECK(windows.confusion.total() == whole.confusion.total());
  CHECK(test::max_difference(task.predict(data::Split::kTest, 0),
                             task.predict(data::Split::kTest, 0)) == 0);
  // One window is the whole.
  task.set_inferer(training::make_inferer(
      test::component(R"({"type": "sliding_window", "roi_size": [16, 16]})")));
  CHECK(task.evaluate_in_full(data::Split::kTest).metrics == whole.metrics);
}

TEST_CASE("label segmentation: what does not fit is refused with one line", "[training]") {
  OneConvolution model(3);
  CHECK_THROWS_WITH(LabelSegmentation(model, shapes()),
                    "model.num_classes: 3, but the masks of the data set have 4 classes "
                    "(background, disc, cross, frame); expected 4, or null");
  OneConvolution right(kClasses);
  CHECK_THROWS_WITH(LabelSegmentation(right, shapes(), {"bce_dice", {}}),
                    "loss.type: bce_dice does not compare label maps; choose cross_entropy, dice, "
                    "dice_ce, boundary_dou, nnunet, paper_eq8, focal");
  const auto& entry = training::tasks().find("segmentation");
  CHECK_THROWS_WITH(entry.make(right, shapes(), {"bce_dice", {}}),
                    Catch::Contains("does not compare label maps"));
  CHECK(entry.make(right, shapes(), {"dice_ce", {}})->monitor() == metrics::kPooledDice);
  CHECK(entry.make(right, nullptr, {"dice_ce", {}})->monitor() == metrics::kPooledDice);
  CHECK(entry.make(right, nullptr, {"bce_dice", {}})->monitor() == metrics::kPooledDice);
  // A network that does not say how many maps it gives.
  OneConvolution silent(6, false);
  CHECK_THROWS_WITH(LabelSegmentation(silent, shapes()).measure(data::Split::kTest, {}),
                    Catch::Contains("the network gives 6 maps"));
}

TEST_CASE("label segmentation: stopped after every step and resumed, it writes the same bytes",
          "[training]") {
  const test::Folder folder("label_segmentation_resume");
  const auto run = [&](const std::string& name, bool stopping) {
    const io::fs::path out = folder.path / name;
    std::atomic<bool> stop{true};
    for (int part = 0; part < 100; ++part) {
      OneConvolution model(kClasses);
      LabelSegmentation task(model, shapes(0, R"(, "augment": ["horizontal_flip"])"));
      training::TrainerSetup trainer = test::toy_setup(out, test::cpu());
      trainer.train.epochs = 2;
      trainer.train.select_on = training::SelectOn::kTest;
      trainer.resume = part > 0;
      if (stopping) trainer.stop = &stop;
      try {
        training::Trainer(task, trainer).run();
        break;
      } catch (const Interrupted&) {
      }
    }
    std::string bytes;
    for (const char* file : {"model.safetensors", "optimiser.safetensors"})
      bytes += io::read_text(test::in_checkpoint(out, file)) +
               io::read_text(test::in_checkpoint(out, file, "best"));
    const schema::Value summary = schema::parse(io::read_text(out / "summary.json"), "summary");
    return bytes + summary.at("metrics").dump() + summary.at("best").dump();
  };
  CHECK(run("stopped", true) == run("straight", false));
}

TEST_CASE("losses: dice_ce is the weighted sum of its parts", "[training]") {
  const Tensor map = test::random_tensor({2, 3, 4, 5}, 3, DType::kFloat32);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 40; ++i) labels.push_back(i % 7 == 0 ? data::kIgnoreLabel : i % 3);
  const Tensor target = Tensor::from(labels, {2, 4, 5}, test::cpu());
  const auto loss = [&](const std::string& json) {
    return training::make_loss(test::component(json), training::Compares::kLabelMaps)(
               {.maps = {map}}, target)
        .item<float>();
  };
  const float dice = loss(R"({"type": "dice"})"), ce = loss(R"({"type": "cross_entropy"})");
  CHECK(loss(R"({"type": "dice_ce"})") == Approx(dice + ce));
  CHECK(loss(R"({"type": "dice_ce", "dice_weight": 0.25, "ce_weight": 2})") ==
        Approx(0.25 * dice + 2 * ce));
  CHECK(loss(R"({"type": "dice_ce", "ce_weight": 0, "background": false})") ==
        Approx(loss(R"({"type": "dice", "background": false})")));
  CHECK(loss(R"({"type": "dice_ce", "dice_weight": 0, "label_smoothing": 0.1})") ==
        Approx(loss(R"({"type": "cross_entropy", "label_smoothing": 0.1})")));
  CHECK(training::compares({"dice_ce", {}}, training::Compares::kLabelMaps));
  CHECK_FALSE(training::compares({"dice_ce", {}}, training::Compares::kMasks));
  CHECK_FALSE(training::compares({"nothing", {}}, training::Compares::kMasks));
}
