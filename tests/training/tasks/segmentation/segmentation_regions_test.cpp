// Regions of volumes: the loss of a batch, scores against sums over the files, what is refused.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/registry.h"
#include "data/volumes/volume_dataset.h"
#include "data/volumes/volume_regions.h"
#include "nn/convolution.h"
#include "ops/elementwise.h"
#include "ops/losses/mask_loss.h"
#include "tests/support/tensors.h"
#include "tests/training/region_set.h"
#include "tests/training/toy_task.h"
#include "training/tasks/segmentation/segmentation.h"

using namespace fovea;
using training::BatchSource;
using training::RegionSegmentation;
using training::Segmentation;

namespace {

constexpr std::int64_t kRegions = 3;
constexpr float kThresholds[] = {-0.4f, 0.6f, 1.6f};  // of prepared values, a region each

// Region r is where values are above the r-th threshold; all but right for the set.
class Thresholds final : public models::ModelOf<models::Interface::kDenseNetwork> {
 public:
  explicit Thresholds(std::int64_t maps = kRegions)
      : maps_(maps),
        conv_(child<nn::Conv3d>("conv",
                                nn::Build{test::cpu(), DType::kFloat32, RandomStream(3), {}}, 1,
                                maps, ops::Sizes{1}, ops::ConvOptions{})) {
    for (const nn::NamedTensor& named : parameters()) {
      Tensor tensor = named.tensor;
      for (std::int64_t r = 0; r < maps; ++r)
        tensor.data<float>()[r] =
            named.name == "conv.bias" ? -4 * kThresholds[static_cast<std::size_t>(r % 3)] : 4;
    }
  }
  std::string type() const override { return "Thresholds"; }
  std::int64_t num_maps() const override { return maps_; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe*) override {
    return {.maps = {conv_(in.image)}};
  }

 private:
  std::int64_t maps_;
  nn::Conv3d& conv_;
};

std::shared_ptr<BatchSource> source_of(const io::fs::path& root) {
  training::BatchOptions options;
  options.train.batch_size = 2;
  options.host = test::cpu();
  return std::make_shared<BatchSource>(
      data::make_splits(test::component(R"({"type": "nnunet", "img_size": [4, 8, 8], "root": ")" +
                                        root.string() +
                                        R"(", "split": {"val": 0.5}, "spacing": [1, 1, 1]})")),
      options);
}

struct MaskSums {
  double truth = 0, predicted = 0, both = 0;
};

}  // namespace

TEST_CASE("regions: the task is chosen by the data, the loss is that of their masks",
          "[training]") {
  const test::Folder folder("regions-loss");
  test::write_region_set(folder.path, 4);
  const auto source = source_of(folder.path);
  Thresholds model;
  const auto task = Segmentation::make(model, source, {"nnunet", {}});
  REQUIRE(dynamic_cast<RegionSegmentation*>(task.get()) != nullptr);
  source->start_epoch(0, 0);
  const data::Batch batch = *source->next();
  const models::Outputs output = task->output(batch);
  const Tensor masks =
      ops::region_masks(batch.at("mask"), {{1, 2, 3}, {2, 3}, {3}}, data::kIgnoreLabel);
  const auto loss_of = [&](const char* type) {
    Thresholds other;
    return Segmentation::make(other, source, {type, {}})->loss_of(output, batch).item<float>();
  };
  CHECK(loss_of("nnunet") == ops::nnunet_mask_loss(output.maps[0], masks).item<float>());
  const float dice = ops::mask_dice(output.maps[0], masks).item<float>();
  CHECK(loss_of("dice") == dice);
  CHECK(loss_of("dice_ce") ==
        Approx(dice + ops::mask_cross_entropy(output.maps[0], masks).item<float>()));
  // Classes and weights of the loss are for what the network has maps for.
  CHECK_THROWS_WITH(
      Segmentation::make(model, source, {"boundary_dou", {}}),
      "loss.type: boundary_dou does not compare regions; choose dice, dice_ce, nnunet");
  CHECK_THROWS_WITH(
      Segmentation::make(model, source,
                         test::component(R"({"type": "dice_ce", "label_smoothing": 0.1})"))
          ->loss_of(output, batch),
      Catch::Contains("loss.label_smoothing: 0.1; expected 0 for regions"));
}

TEST_CASE("regions: of several maps each is compared at its own size", "[training]") {
  const test::Folder folder("regions-maps");
  test::write_region_set(folder.path, 4);
  const auto source = source_of(folder.path);
  Thresholds model;
  const auto task = Segmentation::make(model, source, {"nnunet", {}});
  source->start_epoch(0, 0);
  const data::Batch batch = *source->next();
  models::Outputs two = task->output(batch);
  two.maps.push_back(test::random_tensor({2, 3, 2, 4, 4}, 1, DType::kFloat32));
  const std::vector<std::vector<std::int64_t>> regions = {{1, 2, 3}, {2, 3}, {3}};
  const auto loss_at = [&](std::size_t map, const ops::Sizes& size) {
    const Tensor labels = ops::nearest_labels(batch.at("mask"), size);
    return double{
        ops::nnunet_mask_loss(two.maps[map], ops::region_masks(labels, regions)).item<float>()};
  };
  CHECK(task->loss_of(two, batch).item<float>() ==
        Approx(2.0 / 3 * loss_at(0, {4, 8, 8}) + 1.0 / 3 * loss_at(1, {2, 4, 4})));
}

TEST_CASE("regions: scores are those of the regions of truth and exported labels", "[training]") {
  const test::Folder folder("regions-scores");
  test::write_region_set(folder.path, 4);
  const auto source = source_of(folder.path);
  Thresholds model;
  model.train(false);
  RegionSegmentation task(model, source);
  task.add_metrics({{"case_dice", "hd95"}});
  for (const data::Split split : {data::Split::kTrain, data::Split::kVal}) {
    const auto full = task.evaluate_in_full(split);
    const auto& volumes = *data::find_volumes(source->at(split));
    const std::vector<std::vector<int>> sets = {{1, 2, 5}, {2, 5}, {5}};
    std::vector<MaskSums> all(kRegions);
    std::vector<std::vector<double>> case_dice;
    for (std::int64_t i = 0; i < volumes.size(); ++i) {
      // By the rule, from the maps at the size of the file.
      const Tensor prob = task.probabilities_of(source->one(split, i));
      const auto found =
          data::labels_on_file(prob.host_values<float>(), volumes.info(),
                               {prob.size(2), prob.size(3), prob.size(4)}, volumes.place(i));
      const data::Volume truth = data::read_nifti_labels(volumes.files_of(i).labels);
      case_dice.emplace_back();
      std::int64_t count = 0;
      for (std::size_t r = 0; r < kRegions; ++r) {
        MaskSums sums;
        for (std::size_t v = 0; v < found.size(); ++v) {
          const int label = static_cast<int>(truth.values[v]);
          if (label == 6) continue;
          count += r == 0 ? 1 : 0;
          const int predicted = volumes.info().label_values[found[v]];
          const bool there = std::ranges::count(sets[r], label) > 0;
          const bool here = std::ranges::count(sets[r], predicted) > 0;
          sums.truth += there ? 1 : 0;
          sums.predicted += here ? 1 : 0;
          sums.both += there && here ? 1 : 0;
        }
        const metrics::ClassCounts& counts = full.by_sample[static_cast<std::size_t>(i)];
        CHECK(static_cast<double>(counts.truth[r + 1]) == sums.truth);
        CHECK(static_cast<double>(counts.predicted[r + 1]) == sums.predicted);
        CHECK(static_cast<double>(counts.both[r + 1]) == sums.both);
        case_dice.back().push_back(
            sums.truth == 0 ? std::nan("") : 200 * sums.both / (sums.truth + sums.predicted));
        all[r].truth += sums.truth;
        all[r].predicted += sums.predicted;
        all[r].both += sums.both;
      }
      CHECK(full.pixels[static_cast<std::size_t>(i)] == count);
    }
    double pooled = 0;
    for (const MaskSums& sums : all) pooled += 200 * sums.both / (sums.truth + sums.predicted) / 3;
    CHECK(metrics::value_of(full.metrics, "pooled_dice") == Approx(pooled));
    CHECK((pooled > 20 && pooled < 100));
    const auto means = metrics::means_over_cases(case_dice, metrics::Empty::kZero);
    CHECK(metrics::value_of(full.metrics, "case_dice") == Approx(means.mean));
    CHECK(metrics::value_of(full.metrics, "case_dice_enhancing") == Approx(means.of_class[2]));
    CHECK(metrics::value_of(full.metrics, "hd95_core") >= 0);
    CHECK(std::ranges::none_of(full.metrics, [](const metrics::Measurement& one) {
      return one.info.name == "accuracy" || one.info.name == "miou";
    }));
  }
  // At the network's size they are those of what it sees.
  RegionSegmentation seen_task(model, source);
  seen_task.add_metrics({.names = {}, .size = metrics::ScoreSize::kNetwork});
  const auto small = seen_task.evaluate_in_full(data::Split::kVal);
  const data::Batch sample = source->one(data::Split::kVal, 0);
  const Tensor labels =
      data::region_labels(seen_task.probabilities_of(sample), source->volume_info().regions);
  metrics::ConfusionMatrix confusion(4);
  confusion.add(sample.at("mask").values<std::int64_t>(), labels.values<std::int64_t>(),
                data::kIgnoreLabel);
  const auto counts = metrics::class_counts(confusion, {{0}, {1, 2, 3}, {2, 3}, {3}});
  CHECK(small.by_sample[0].both == counts.both);
  CHECK(small.by_sample[0].predicted == counts.predicted);
  // One that is nowhere in a case is left out, and counted.
  bool seen = false;
  for (const data::Split split : {data::Split::kTrain, data::Split::kVal}) {
    for (const metrics::Measurement& one : task.measure(split, {})) {
      if (one.info.name != "case_dice") continue;
      CHECK(one.coverage.compared == 6);
      seen = seen || one.coverage.defined == 5;
    }
  }
  CHECK(seen);
}

TEST_CASE("regions: names of the network's maps are those of the regions", "[training]") {
  const test::Folder folder("regions-names");
  test::write_region_set(folder.path, 4);
  const auto source = source_of(folder.path);
  Thresholds model;
  RegionSegmentation task(model, source);
  CHECK_THAT(task.source().files().at("classes.json"), Catch::Contains("whole"));
  CHECK_THAT(task.source().files().at("classes.json"), !Catch::Contains("background"));
  CHECK(task.source().files().contains("regions.json"));
  task.add_metrics({.names = {"case_dice"}, .classes = {"core"}});
  const auto chosen = task.evaluate_in_full(data::Split::kVal).metrics;
  CHECK(metrics::value_of(chosen, "case_dice") == metrics::value_of(chosen, "case_dice_core"));
  CHECK(metrics::value_of(chosen, "pooled_dice") == metrics::value_of(chosen, "pooled_dice_core"));
  CHECK_THROWS_WITH(task.add_metrics({.names = {}, .classes = {"label 1"}}),
                    Catch::Contains("known: background, whole, core, enhancing"));
  Thresholds four(4);
  CHECK_THROWS_WITH(RegionSegmentation(four, source),
                    "model.num_classes: 4, but the masks of the data set have 3 regions (whole, "
                    "core, enhancing); expected 3, or null");
  const auto inferer = [](const char* mean) {
    return training::make_inferer(test::component(
        std::string(R"({"type": "nnunet_windows", "roi_size": [4], "mean": ")") + mean + "\"}"));
  };
  task.set_inferer(inferer("logits"));
  CHECK_THROWS_WITH(task.set_inferer(inferer("probabilities")),
                    Catch::Contains("eval.inferer.mean: probabilities are of classes"));
}

TEST_CASE("regions: a step without data costs what one of regions does", "[training]") {
  models::DataShape shape;
  shape.channels = 1;
  shape.depth = shape.height = shape.width = 4;
  shape.num_classes = kRegions;
  shape.label_maps = shape.regions = true;
  Thresholds model;
  const data::Batch batch = Segmentation::random_batch(shape, 2, test::cpu());
  CHECK(batch.at("mask").shape() == Shape{2, 3, 4, 4, 4});
  const auto task = Segmentation::make(model, nullptr, {"nnunet", {}});
  const models::Outputs output = task->output(batch);
  CHECK(task->loss_of(output, batch).item<float>() ==
        ops::nnunet_mask_loss(output.maps[0], batch.at("mask")).item<float>());
  const auto names = Segmentation::metrics_of(shape);
  CHECK(metrics::find_metric(names, "pooled_dice_whole") != nullptr);
  CHECK(metrics::find_metric(names, "accuracy") == nullptr);
}
