#include "training/tasks/detection/detection.h"

#include <catch2/catch.hpp>

#include "autograd/graph.h"
#include "base/error.h"
#include "tests/training/report_tables.h"
#include "tests/training/tasks/detection/toy_detection.h"
#include "training/tasks/detection/detection_batch.h"
#include "training/tasks/task_registry.h"

using namespace fovea;
using data::Split;
using test::Told;
using training::Detection;

namespace {

std::vector<Told> nothing(const models::ImageSize&) { return {}; }

double metric(const training::Metrics& all, const std::string& name) {
  return metrics::value_of(all, name);
}

}  // namespace

TEST_CASE("detection: the truth at the network's size is perfect at the files'", "[training]") {
  const Device host = make_cpu(1);
  test::ToldDetector model(host, test::toy_truth, true);
  model.train(false);
  Detection task(model, test::toy_boxes(host, true), {});
  const auto clean = task.evaluate_in_full(Split::kTest);
  CHECK(clean.indices == std::vector<std::int64_t>{0, 1, 2, 3});
  for (const char* name : {"ap", "ap50", "ap75", "ar100", "mask_ap", "mask_ap50", "ap_cell"})
    CHECK(metric(clean.metrics, name) == Approx(100));
  const training::DetectedImage& one = clean.images[0];
  CHECK(one.height == 40);
  CHECK(one.width == 60);
  REQUIRE(one.found.size() == 2);
  CHECK(one.found[0].box == metrics::ObjectBox{10, 10, 30, 20});
  CHECK(*one.found[0].mask == *one.truth[0].mask);
  CHECK(clean.images[2].found.empty());
  CHECK(clean.images[3].truth[0].crowd);
}

TEST_CASE("detection: what is missed, wrong or found in a crowd is scored as COCO does",
          "[training]") {
  const Device host = make_cpu(1);
  const auto worse = [](const models::ImageSize& seen) {
    std::vector<Told> told = test::toy_truth(seen);
    if (seen == models::ImageSize{80, 120}) told.pop_back();  // misses a platelet
    if (seen == models::ImageSize{80, 80}) told = {{{0, 0, 30, 30}, 0, 0.95f}};  // sees a ghost
    if (seen == models::ImageSize{120, 72})
      told.insert(told.begin(), {{8, 8, 40, 40}, 0, 0.99f});  // inside the crowd
    return told;
  };
  test::ToldDetector model(host, worse, false);
  model.train(false);
  Detection task(model, test::toy_boxes(host, false), {});
  const training::Metrics all = task.measure(Split::kTest, std::nullopt);
  // Cells: a ghost before two right ones: precision 2/3 at every recall. Platelets: one of two.
  CHECK(metric(all, "ap_cell") == Approx(100 * 2.0 / 3).margin(0.01));
  CHECK(metric(all, "ap_platelet") == Approx(100 * 51.0 / 101).margin(0.01));
  CHECK(metrics::find_metric(metrics::infos_of(all), "mask_ap") == nullptr);
}

TEST_CASE("detection: boxes are clipped to the file", "[training]") {
  const Device host = make_cpu(1);
  const auto outside = [](const models::ImageSize&) {
    return std::vector<Told>{{{-10, -10, 500, 500}, 1, 0.5f}};
  };
  test::ToldDetector model(host, outside, true);
  model.train(false);
  Detection task(model, test::toy_boxes(host, true), {});
  const auto clean = task.evaluate_in_full(Split::kTest);
  CHECK(clean.images[1].found[0].box == metrics::ObjectBox{0, 0, 40, 60});
  CHECK(clean.images[1].found[0].mask->height == 60);
}

TEST_CASE("detection: the loss is the sum of the network's, whose truth has crowds apart",
          "[training]") {
  const Device host = make_cpu(1);
  const bool masks = GENERATE(true, false);
  test::ToldDetector model(host, nothing, masks);
  Detection task(model, test::toy_boxes(host, true), {});
  data::Batch batch;
  task.source().each_batch(Split::kTest, std::nullopt, [&](const data::Batch& seen) {
    if (seen.size() == 1) batch = seen;
  });
  const auto loss = task.loss_parts(batch);
  CHECK(loss.sum.item<float>() == Approx(2.5));
  REQUIRE(loss.parts.size() == 2);
  CHECK(loss.parts[0].first == "loss_cls");
  CHECK(loss.parts[1].second.item<float>() == Approx(0.5));
  autograd::backward(loss.sum);
  const std::size_t image = batch.indices.front() == 3 ? 0 : 1;
  REQUIRE(image == 0);
  const models::DetectionTruth& truth = model.truth.front();
  CHECK(truth.boxes.shape() == Shape{1, 4});
  CHECK(truth.crowds.shape() == Shape{1, 4});
  CHECK(truth.labels.shape() == Shape{1});
  CHECK(truth.masks.defined() == masks);
  if (masks) CHECK(truth.masks.size(0) == 1);
}

TEST_CASE("detection: a report has tables, curves, kinds of errors and what was found",
          "[training]") {
  const Device host = make_cpu(1);
  const auto some = [](const models::ImageSize& seen) {
    std::vector<Told> told = test::toy_truth(seen);
    if (told.size() == 2) told[1].label = 0;  // a platelet called a cell
    return told;
  };
  test::ToldDetector model(host, some, true);
  model.train(false);
  Detection task(model, test::toy_boxes(host, true), {});
  const training::Report report = task.report({.split = Split::kTest, .pictures = 2});
  const training::Table& found = report.tables[0];
  CHECK(found.name == "detections");
  CHECK(std::get<std::vector<std::string>>(found.columns[1].values) ==
        std::vector<std::string>{"one.png", "one.png", "two.png", "crowd.png"});
  CHECK(std::get<std::vector<std::string>>(found.columns[9].values) ==
        std::vector<std::string>{"found", "class", "found", "found"});
  const training::Table& classes = report.tables[1];
  CHECK(classes.name == "classes");
  CHECK(std::get<std::vector<std::int64_t>>(classes.columns[1].values) ==
        std::vector<std::int64_t>{2, 2});
  CHECK(report.tables[2].columns.size() == 3);  // recall and two classes
  CHECK(report.curves.size() == 2);             // of boxes and of masks
  CHECK(report.details.at("errors").at("class").as_int() == 1);
  CHECK(report.details.at("errors").at("found").as_int() == 3);
  CHECK(report.details.at("errors").at("missed").as_int() == 0);
  CHECK(report.detected.size() == 4);
  REQUIRE(report.shown.size() == 2);
  CHECK(report.shown[0].label == "one, 1 of 2 found");

  const auto picture = task.picture(Split::kTest, 0);
  CHECK(picture.image.shape() == Shape{3, 80, 120});
  CHECK(picture.objects[0].box == metrics::ObjectBox{20, 20, 60, 40});
  CHECK(picture.objects[0].mask->width == 120);
  CHECK(picture.found[0].box == metrics::ObjectBox{20, 20, 60, 40});
}

TEST_CASE("detection: networks and data that do not fit are refused", "[training]") {
  const Device host = make_cpu(1);
  test::ToldDetector model(host, nothing, true);
  CHECK_THROWS_WITH(Detection(model, test::toy_boxes(host, false), {}),
                    Catch::Contains("dataset.masks: false"));
  test::ToyModel other(host, 0);
  CHECK_THROWS_WITH(Detection(other, nullptr, {}), Catch::Contains("task: detection needs"));
  const auto unknown = [](const models::ImageSize&) {
    return std::vector<Told>{{{0, 0, 5, 5}, 7, 0.5f}};
  };
  test::ToldDetector many(host, unknown, false);
  many.train(false);
  Detection task(many, test::toy_boxes(host, false), {});
  CHECK_THROWS_WITH(task.measure(Split::kTest, std::nullopt),
                    Catch::Contains("model.num_classes: the network found class 7"));
  CHECK_THROWS_AS(task.measure(Split::kVal, std::nullopt), ConfigError);
}

TEST_CASE("detection: a made-up batch has objects inside its images", "[training]") {
  for (const Device& device : {make_cpu(1), make_meta()}) {
    const data::Batch batch = training::random_detection_batch({3, 32, 48, 4}, 2, device);
    CHECK(batch.at("image").shape() == Shape{2, 3, 32, 48});
    CHECK(training::image_sizes(batch) == std::vector<models::ImageSize>{{32, 48}, {32, 48}});
    const auto truth = training::truth_of(batch, true);
    REQUIRE(truth.size() == 2);
    CHECK(truth[0].boxes.size(0) == 6);
    CHECK(truth[0].masks.shape() == Shape{6, 32, 48});
    CHECK(truth[0].crowds.shape() == Shape{0, 4});
    for (const float at : truth[0].boxes.host_values<float>()) CHECK((at >= 0 && at <= 48));
    CHECK_FALSE(training::truth_of(batch, false)[0].masks.defined());
  }
}
