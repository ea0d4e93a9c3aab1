// Dice and HD95 image by image and class by class, where they are asked for.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/files/pictures/image_file.h"
#include "data/registry.h"
#include "metrics/masks/surface.h"
#include "nn/convolution.h"
#include "tests/metrics/distances.h"
#include "tests/support/tensors.h"
#include "tests/training/report_tables.h"
#include "tests/training/toy_task.h"
#include "training/tasks/segmentation/segmentation.h"

using namespace fovea;
using training::BatchSource;
using training::LabelSegmentation;
using training::MaskSegmentation;

namespace {

// One convolution.
class CaseNetwork final : public models::ModelOf<models::Interface::kDenseNetwork> {
 public:
  explicit CaseNetwork(std::int64_t maps)
      : conv_(child<nn::Conv2d>("conv",
                                nn::Build{test::cpu(), DType::kFloat32, RandomStream(1), {}}, 3,
                                maps, ops::Sizes{3}, ops::ConvOptions{.padding = {1}})) {}
  std::string type() const override { return "CaseNetwork"; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe*) override {
    return {.maps = {conv_(in.image)}};
  }

 private:
  nn::Conv2d& conv_;
};

std::shared_ptr<BatchSource> case_shapes(std::int64_t eval_batch, const std::string& more = "") {
  training::BatchOptions options;
  options.train.batch_size = 4;
  options.train.eval_batch_size = eval_batch;
  options.host = test::cpu();
  return std::make_shared<BatchSource>(
      data::make_splits(test::component(R"({"type": "synthetic_segmentation", "num_classes": 4,
          "img_size": 16, "train_size": 8, "test_size": 5, "ignore_edges": true)" +
                                        more + "}")),
      options);
}

// Squares to be found, masks of one foreground: 3 to test, 1 to train on.
std::shared_ptr<BatchSource> squares(const test::Folder& folder, const std::string& more = "") {
  for (const char* part : {"images", "masks", "splits"}) io::make_directories(folder.path / part);
  std::string train, test;
  for (int n = 0; n < 4; ++n) {
    data::Image image{12, 12, 3, std::vector<std::uint8_t>(12 * 12 * 3, 40)};
    data::Image mask{12, 12, 1, std::vector<std::uint8_t>(12 * 12, 0)};
    for (int i = 0; i < 25; ++i) {
      const auto at = static_cast<std::size_t>((n + i / 5) * 12 + 2 + n + i % 5);
      mask.pixels[at] = 255;
      image.pixels[3 * at] = 220;
    }
    const std::string name = "s" + std::to_string(n);
    data::write_png(folder.path / "images" / (name + ".png"), image);
    data::write_png(folder.path / "masks" / (name + ".png"), mask);
    (n < 3 ? test : train) += name + "\n";
  }
  io::write_atomic(folder.path / "splits/train.txt", train);
  io::write_atomic(folder.path / "splits/test.txt", test);
  const auto split = [&](data::Split which) {
    return data::make_dataset(test::component(R"({"type": "paired_folder", "root": ")" +
                                              folder.path.string() + "\"" + more + "}"),
                              which);
  };
  training::BatchOptions options;
  options.train.batch_size = 2;
  options.host = test::cpu();
  return std::make_shared<BatchSource>(
      data::Splits{split(data::Split::kTrain), nullptr, split(data::Split::kTest)}, options);
}

}  // namespace

TEST_CASE("segmentation cases: HD95 and Dice of label maps, behind the others", "[training]") {
  CaseNetwork model(4);
  model.train(false);
  const auto source = case_shapes(2);
  LabelSegmentation task(model, source);
  const training::Metrics plain = task.measure(data::Split::kTest, {});
  task.add_metrics({{"hd95", "case_dice"}, metrics::EmptyMasks::kGdla});
  const auto full = task.evaluate_in_full(data::Split::kTest);
  CHECK(task.metrics() == metrics::infos_of(full.metrics));
  REQUIRE(full.metrics.size() == plain.size() + 2 + 2 * 3);  // and of each class
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(full.metrics[i] == plain[i]);
  // By hand, in another order of images.
  std::vector<std::vector<double>> distances, dice;
  for (std::int64_t i = 4; i >= 0; --i) {
    const data::Batch sample = source->one(data::Split::kTest, i);
    const Tensor labels = metrics::predicted_labels(task.output(sample).maps.front());
    const auto truth = sample.at("mask").values<std::int64_t>();
    const auto found = labels.values<std::int64_t>();
    distances.push_back(test::distances("hd95", truth, found, 4, data::kIgnoreLabel, {{16, 16}}));
    for (double& distance : distances.back()) distance = std::isnan(distance) ? 0 : distance;
    metrics::ConfusionMatrix confusion(4);
    confusion.add(truth, found, data::kIgnoreLabel);
    const metrics::ClassCounts n = metrics::class_counts(confusion);
    std::vector<double>& row = dice.emplace_back();
    for (std::size_t c = 1; c < 4; ++c)
      row.push_back(100 * metrics::case_dice(n.truth[c], n.predicted[c], n.both[c],
                                             metrics::EmptyMasks::kGdla));
  }
  CHECK(metrics::value_of(full.metrics, "hd95") ==
        Approx(metrics::means_over_cases(distances, metrics::Empty::kLeftOut).mean));
  CHECK(metrics::value_of(full.metrics, "hd95") > 0);
  CHECK(metrics::value_of(full.metrics, "case_dice") ==
        Approx(metrics::means_over_cases(dice, metrics::Empty::kZero).mean));
}

TEST_CASE("segmentation cases: reports have every image's values and what is undefined",
          "[training]") {
  CaseNetwork model(4);
  model.train(false);
  LabelSegmentation task(model, case_shapes(2));
  const auto report = [&] { return task.report({data::Split::kTest}); };
  CHECK(test::heads_of(report(), "samples") ==
        "index,name,dice,iou,accuracy,dice_background,dice_disc,dice_cross,dice_frame,"
        "iou_background,iou_disc,iou_cross,iou_frame");
  task.add_metrics({{"hd95"}, metrics::EmptyMasks::kGdla});
  const training::Report with = report();
  CHECK_THAT(test::heads_of(with, "samples"),
             Catch::EndsWith("iou_frame,hd95_disc,hd95_cross,hd95_frame"));
  const auto full = task.evaluate_in_full(data::Split::kTest);
  std::int64_t undefined = 0;
  for (const metrics::CaseScores& scores : full.cases)
    for (const double distance : scores.from_masks.at("hd95"))
      undefined += std::isnan(distance) ? 1 : 0;
  const schema::Value& detail = with.details.at("hd95");
  CHECK(detail.at("undefined").as_int() == undefined);
  CHECK(detail.at("compared").as_int() == 15);
  REQUIRE(undefined > 0);  // else the line below is not seen
  REQUIRE(with.lines.size() >= 2);
  CHECK_THAT(with.lines[0], Catch::StartsWith("scored at the size of the files"));
  CHECK_THAT(with.lines[1], Catch::StartsWith("hd95: " + std::to_string(undefined) +
                                              " of 15 cases and classes are undefined") &&
                                Catch::Contains("without them it is "));
  CHECK(with.lines.back() ==
        "hd95: lengths are in pixels; the data set does not say how large these are");
  CHECK(metrics::coverage_text(full.metrics.at(full.metrics.size() - 4).coverage) ==
        " (" + std::to_string(15 - undefined) + "/15)");
  task.add_metrics({{"hd95"}});
  CHECK_THAT(report().lines[1], Catch::EndsWith("they are left out"));
}

TEST_CASE("segmentation cases: means are of the chosen classes, pooled ones too", "[training]") {
  CaseNetwork model(4);
  model.train(false);
  LabelSegmentation task(model, case_shapes(2));
  metrics::CaseMetrics chosen{{"case_dice"}};
  chosen.classes = {"cross"};
  task.add_metrics(chosen);
  const training::Metrics one = task.measure(data::Split::kTest, {});
  for (const char* metric : {"case_dice", "pooled_dice"})
    CHECK(metrics::value_of(one, metric) == metrics::value_of(one, metric + std::string("_cross")));
  metrics::CaseMetrics asked;
  asked.classes = {"cros"};
  CHECK_THROWS_WITH(task.add_metrics(asked), Catch::Contains("did you mean \"cross\"?"));
  CaseNetwork foreground(1);
  MaskSegmentation masks(foreground, nullptr);
  CHECK_THROWS_AS(masks.add_metrics(asked), ConfigError);
}

TEST_CASE("segmentation cases: distances are in pixels of the files unless asked otherwise",
          "[training]") {
  const test::Folder data("case_sizes");
  CaseNetwork model(1);
  model.train(false);
  MaskSegmentation task(model, squares(data, R"(, "img_size": 6)"));  // of 12
  const auto scored = [&](const metrics::CaseMetrics& asked) {
    task.add_metrics(asked);
    return task.report({data::Split::kTest});
  };
  const auto pixels = [&] { return task.evaluate_in_full(data::Split::kTest).counts.total(); };
  CHECK(scored({{"case_dice"}}).details.at("score_size").as_string() == "network");
  CHECK(pixels() == 3 * 36);
  CHECK(scored({{"hd95"}}).details.at("score_size").as_string() == "original");
  CHECK(pixels() == 3 * 144);
  metrics::CaseMetrics small{{"hd95"}};
  small.size = metrics::ScoreSize::kNetwork;
  const training::Report at_network = scored(small);
  CHECK(at_network.details.at("score_size").as_string() == "network");
  CHECK(at_network.lines.at(0) ==
        "scored at the size that the network sees, 6 x 6: distances in px are pixels of that size");
}

TEST_CASE("segmentation: an image that is ignored as a whole counts nowhere", "[training]") {
  const auto measured = [](bool one_more) {
    const test::Folder folder("ignored_image");
    for (const char* part : {"images", "masks", "splits"}) io::make_directories(folder.path / part);
    for (int n = 0; n < 3; ++n) {
      data::Image image{8, 8, 3, std::vector<std::uint8_t>(8 * 8 * 3, 40)};
      data::Image mask{8, 8, 1, std::vector<std::uint8_t>(8 * 8, n == 2 ? 255 : 0)};
      for (std::size_t i = 0; i < 64; i += 3) image.pixels[3 * i] = 200;
      for (std::size_t i = 0; n < 2 && i < 20; ++i) mask.pixels[i] = 1;
      data::write_png(folder.path / fmt::format("images/{}.png", n), image);
      data::write_png(folder.path / fmt::format("masks/{}.png", n), mask);
    }
    io::write_atomic(folder.path / "splits/train.txt", "0\n");
    io::write_atomic(folder.path / "splits/test.txt", one_more ? "1\n2\n" : "1\n");
    const auto part = [&](data::Split which) {
      return data::make_dataset(test::component(R"({"type": "paired_folder", "mask_type": "labels",
                              "classes": ["a", "b"], "ignore_value": 255, "root": ")" +
                                                folder.path.string() + "\"}"),
                                which);
    };
    training::BatchOptions options;
    options.train.batch_size = 2;
    options.host = test::cpu();
    CaseNetwork model(2);
    model.train(false);
    LabelSegmentation task(
        model,
        std::make_shared<BatchSource>(
            data::Splits{part(data::Split::kTrain), nullptr, part(data::Split::kTest)}, options));
    return task.report({data::Split::kTest});
  };
  const training::Report all = measured(true);
  const training::Metrics without = measured(false).metrics, with = all.metrics;
  REQUIRE(without.size() == with.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    INFO(with[i].info.name);
    CHECK(with[i].value == Approx(without[i].value));
  }
  CHECK(std::count(all.lines.begin(), all.lines.end(),
                   "1 of the 2 images are ignored as a whole: they are left out of the loss and of "
                   "the means over the images") == 1);
  const auto& dice =
      std::get<std::vector<double>>(test::find_table(all, "samples")->columns[2].values);
  REQUIRE(dice.size() == 2);
  CHECK_FALSE(std::isnan(dice[0]));
  CHECK(std::isnan(dice[1]));
  REQUIRE(all.shown.size() == 2);
  CHECK(all.shown[1].label == "2, Dice -");
}

TEST_CASE("segmentation cases: of one foreground", "[training]") {
  const test::Folder data("case_squares");
  CaseNetwork model(1);
  model.train(false);
  MaskSegmentation task(model, squares(data));
  const std::size_t plain = task.measure(data::Split::kTest, {}).size();
  task.add_metrics({{"hd95", "case_dice"}});
  const auto full = task.evaluate_in_full(data::Split::kTest);
  CHECK(task.metrics() == metrics::infos_of(full.metrics));
  CHECK(full.metrics.size() == plain + 2);
  REQUIRE(full.cases.size() == 3);
  double dice = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(full.cases[i].counts.truth == std::vector<std::int64_t>{119, 25});
    CHECK(full.cases[i].from_masks.at("hd95").size() == 1);
    dice += 100 * full.by_sample[i].dice() / 3;
  }
  CHECK(metrics::value_of(full.metrics, "case_dice") == Approx(dice));
  const metrics::Measurement& measured = full.metrics[plain];
  REQUIRE(measured.per_sample.size() == 3);
  CHECK_FALSE(measured.of_volumes);
  CHECK(measured.per_sample[1] == Approx(100 * full.by_sample[1].dice()));
  CHECK(test::heads_of(task.report({data::Split::kTest}), "samples") ==
        "index,name,iou,dsc,true_positives,false_positives,false_negatives,hd95");
}

TEST_CASE("segmentation cases: slices of a volume are compared as one", "[training]") {
  const test::Folder data("case_volumes");
  CaseNetwork model(1);
  model.train(false);
  const auto source = squares(data);
  MaskSegmentation task(model, source);
  task.add_metrics({{"hd95", "case_dice"}, metrics::EmptyMasks::kStrict, "folder"});
  const auto full = task.evaluate_in_full(data::Split::kTest);
  REQUIRE(full.cases.size() == 1);
  CHECK(full.cases[0].images == 3);
  CHECK(full.cases[0].counts.truth == std::vector<std::int64_t>{3 * 119, 3 * 25});
  // By hand: all slices on one another, in the order of the split.
  std::vector<std::uint8_t> truth, found;
  for (std::int64_t i = 0; i < 3; ++i) {
    const data::Batch sample = source->one(data::Split::kTest, i);
    const Tensor prob = task.predict(data::Split::kTest, i);
    for (const float p : sample.at("mask").values<float>()) truth.push_back(p >= 0.5f ? 1 : 0);
    for (const float p : prob.values<float>()) found.push_back(p >= 0.5f ? 1 : 0);
  }
  const double distance = metrics::hd95(truth, found, {{3, 12, 12}});
  CHECK(std::isnan(distance) == std::isnan(full.cases[0].from_masks.at("hd95")[0]));
  if (!std::isnan(distance)) CHECK(full.cases[0].from_masks.at("hd95")[0] == distance);
  CHECK(metrics::value_of(full.metrics, "case_dice") == Approx(100 * full.counts.dice()));
  const training::Report report = task.report({data::Split::kTest});
  CHECK(test::heads_of(report, "volumes") == "volume,slices,case_dice,dice,iou,rve,hd95");
  CHECK(test::texts_in(test::find_table(report, "volumes")->columns.front()).size() == 1);
  CHECK_THAT(test::heads_of(report, "samples"), !Catch::Contains("hd95"));
}

TEST_CASE("segmentation cases: volumes by a pattern, of label maps", "[training]") {
  training::CaseCollector cases({{"hd95", "case_dice"}, metrics::EmptyMasks::kStrict, "(p\\d)_"},
                                {{0}, {1}});
  // Two planes of 2 x 4; the prediction is one pixel to the right, and one plane late in p1.
  const std::vector<std::int64_t> none(8, 0), bar = {1, 0, 0, 0, 1, 0, 0, 0},
                                              late = {0, 1, 0, 0, 0, 1, 0, 0};
  const auto add = [&](const std::string& name, std::int64_t index, const auto& truth,
                       const auto& found) {
    metrics::ConfusionMatrix confusion(2);
    confusion.add(truth, found);
    cases.add(metrics::class_counts(confusion), {truth, found, {2, 4}, {}, index, name});
  };
  add("p2_1", 2, bar, late);
  add("p1_b", 1, none, bar);
  add("p1_a", 0, bar, none);
  const auto scores = cases.finish();
  REQUIRE(scores.size() == 2);
  CHECK(scores[0].volume == "p1");
  CHECK(scores[0].images == 2);
  CHECK(scores[0].from_masks.at("hd95") ==
        std::vector<double>{1});  // a plane apart; each plane alone has none
  CHECK(scores[0].counts.truth == std::vector<std::int64_t>{14, 2});
  CHECK(scores[0].counts.both == std::vector<std::int64_t>{12, 0});
  CHECK(scores[1].volume == "p2");
  CHECK(scores[1].from_masks.at("hd95") == std::vector<double>{1});
  CHECK_THROWS_WITH(
      add("other", 3, bar, bar),
      "eval.volumes: \"(p\\d)_\" finds nothing in other; expected a volume for every image");
  CHECK_THROWS_WITH(training::CaseCollector({{"hd95"}, metrics::EmptyMasks::kStrict, "("}, {}),
                    "eval.volumes is \"(\"; expected \"folder\" or a regular expression "
                    "(ECMAScript)");
}

TEST_CASE("segmentation cases: millimetres need data that know them", "[training]") {
  CaseNetwork model(4);
  LabelSegmentation task(model, case_shapes(2));
  task.add_metrics({{"hd95_mm"}});
  CHECK_THROWS_WITH(task.measure(data::Split::kTest, {}),
                    "eval.metrics: hd95_mm, but the data set does not say how large pixels are; "
                    "choose hd95");
  using training::pixel_spacing;
  CHECK(pixel_spacing({.original_size = {100, 60}, .spacing = {0.5, 2}, .offset = {}}, {50, 120}) ==
        std::vector<double>{1, 1});
  CHECK(pixel_spacing({.original_size = {100, 60}, .spacing = {0.5, 2}, .offset = {10, 0}},
                      {50, 40}) == std::vector<double>{0.5, 2});
  CHECK_FALSE(pixel_spacing({}, {50, 40}).has_value());
}

namespace fovea::metrics {
namespace {

double nearest(const std::vector<double>& distances) { return std::ranges::min(distances); }
double volume_ratio(std::int64_t truth, std::int64_t predicted, std::int64_t /*both*/,
                    EmptyMasks /*empty*/) {
  return truth == 0 ? of_nothing(Empty::kLeftOut)
                    : static_cast<double>(predicted) / static_cast<double>(truth);
}

FOVEA_CASE_METRIC(toy_nearest, "smallest distance between borders, in millimetres",
                  {.unit = "mm",
                   .larger_is_better = false,
                   .distance = nearest,
                   .lengths = Lengths::kMillimetres})
FOVEA_CASE_METRIC(case_toy, "predicted pixels over true ones", {.unit = "%", .share = volume_ratio})

}  // namespace
}  // namespace fovea::metrics

TEST_CASE("segmentation cases: reports have new metrics without further ado", "[training]") {
  metrics::case_metric_entries().add(metrics::case_metric_entry_toy_nearest());
  metrics::case_metric_entries().add(metrics::case_metric_entry_case_toy());
  training::CaseCollector collector({{"toy_nearest", "case_toy"}}, {{0}, {1}});
  const std::vector<std::int64_t> truth = {1, 0, 0, 0, 0, 0}, found = {0, 0, 1, 1, 0, 0};
  metrics::ConfusionMatrix confusion(2);
  confusion.add(truth, found);
  collector.add(metrics::class_counts(confusion),
                {truth,
                 found,
                 {1, 6},
                 {.original_size = {1, 1, 6}, .spacing = {5, 3, 0.5}, .offset = {0, 0, 0}},
                 0,
                 "a",
                 "patient 1",
                 1});
  training::Report report;
  report.tables.push_back(training::volumes_table(metrics::CaseMetrics{{"toy_nearest", "case_toy"}},
                                                  collector.finish(), {""}));
  CHECK(test::heads_of(report, "volumes") == "volume,slices,case_toy,dice,iou,rve,toy,toy_nearest");
  std::vector<double> values;
  for (const training::Column& column : report.tables.front().columns)
    if (const auto* numbers = std::get_if<std::vector<double>>(&column.values))
      values.push_back(numbers->at(0));
  CHECK(values == std::vector<double>{200, 0, 0, 1, 2, 1});
  // A lesion that was not found at all is a 0, no empty cell.
  metrics::ConfusionMatrix missed(2);
  const std::vector<std::int64_t> nothing(6, 0);
  missed.add(truth, nothing);
  const metrics::CaseMetrics lesions{{"case_lesion_f1"}};
  training::CaseCollector other(lesions, {{0}, {1}});
  other.add(metrics::class_counts(missed), {truth, nothing, {1, 6}, {}, 0, "a", "patient 2", 1});
  const training::Table table = training::volumes_table(lesions, other.finish(), {""});
  CHECK(table.columns.back().name == "lesion_f1");
  CHECK(std::get<std::vector<double>>(table.columns.back().values) == std::vector<double>{0});
  CHECK_THROWS_WITH(
      collector.add(metrics::class_counts(confusion), {truth, found, {1, 6}, {}, 0, "a"}),
      "eval.metrics: toy_nearest, but the data set does not say how large pixels are; leave it "
      "out");
}
