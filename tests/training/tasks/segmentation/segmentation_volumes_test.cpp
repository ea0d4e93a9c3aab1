// Slices of volumes are scored and written as volumes, at the size of their files.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/metrics/distances.h"
#include "tests/support/tensors.h"
#include "tests/training/hearts.h"
#include "tests/training/report_tables.h"

using namespace fovea;
using test::hearts;
using test::kDepth;
using test::kHeight;
using test::kWidth;
using test::OneGreyConvolution;
using test::truth_and_prediction;
using training::LabelSegmentation;

TEST_CASE("segmentation volumes: scored at the size of the files, in millimetres", "[training]") {
  const test::Folder folder("volumes");
  OneGreyConvolution model;
  model.train(false);
  const auto source = hearts(folder.path);
  LabelSegmentation task(model, source);
  task.add_metrics({{"case_dice", "hd95", "hd95_mm"}, metrics::EmptyMasks::kGdla});
  const auto full = task.evaluate_in_full(data::Split::kTest);
  REQUIRE(full.cases.size() == 2);
  std::vector<std::vector<double>> pixels, millimetres;
  for (std::size_t v = 0; v < 2; ++v) {
    const auto [truth, found] =
        truth_and_prediction(task, *source, kDepth * static_cast<std::int64_t>(v));
    const metrics::Grid grid{{kDepth, kHeight, kWidth}};
    pixels.push_back(test::distances("hd95", truth, found, 4, data::kIgnoreLabel, grid));
    millimetres.push_back(test::distances("hd95_mm", truth, found, 4, data::kIgnoreLabel,
                                          {grid.size, {8, 1.25, 1.5}}));
    CHECK(full.cases[v].volume == (v == 0 ? "patient002_frame01" : "patient002_frame07"));
    CHECK(full.cases[v].images == kDepth);
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK((full.cases[v].from_masks.at("hd95")[c] == pixels[v][c] || std::isnan(pixels[v][c])));
      CHECK((full.cases[v].from_masks.at("hd95_mm")[c] == millimetres[v][c] ||
             std::isnan(pixels[v][c])));
    }
    metrics::ConfusionMatrix confusion(4);
    confusion.add(truth, found);
    CHECK(full.cases[v].counts.truth == metrics::class_counts(confusion).truth);
    CHECK(full.cases[v].counts.both == metrics::class_counts(confusion).both);
  }
  CHECK(full.confusion.total() == 2 * kDepth * kHeight * kWidth);
  for (std::vector<std::vector<double>>* distances : {&pixels, &millimetres})
    for (std::vector<double>& row : *distances)
      for (double& distance : row) distance = std::isnan(distance) ? 0 : distance;
  CHECK(metrics::value_of(full.metrics, "hd95") > 0);
  CHECK(metrics::value_of(full.metrics, "hd95") ==
        Approx(metrics::means_over_cases(pixels, metrics::Empty::kLeftOut).mean));
  CHECK(metrics::value_of(full.metrics, "hd95_mm") ==
        Approx(metrics::means_over_cases(millimetres, metrics::Empty::kLeftOut).mean));
}

TEST_CASE("segmentation volumes: at the network's size, or slice by slice, where asked for",
          "[training]") {
  const test::Folder folder("volumes_network");
  OneGreyConvolution model;
  model.train(false);
  LabelSegmentation task(model, hearts(folder.path));
  metrics::CaseMetrics asked{{"case_dice", "hd95_mm"}};
  asked.size = metrics::ScoreSize::kNetwork;
  task.add_metrics(asked);
  const auto full = task.evaluate_in_full(data::Split::kTest);
  CHECK(full.confusion.total() == 2 * kDepth * 12 * 12);
  CHECK(full.cases.size() == 2);
  asked.size = metrics::ScoreSize::kAuto;
  asked.volumes = metrics::kNoVolumes;
  task.add_metrics(asked);
  const auto slices = task.evaluate_in_full(data::Split::kTest);
  CHECK(slices.cases.size() == 2 * kDepth);
  CHECK(slices.cases[0].volume.empty());
  CHECK(slices.confusion.total() == 2 * kDepth * kHeight * kWidth);
}

TEST_CASE("segmentation volumes: reports say at what size, and what lacks slices", "[training]") {
  const test::Folder folder("volumes_reported"), limited("volumes_limited");
  OneGreyConvolution model;
  model.train(false);
  LabelSegmentation task(model, hearts(folder.path));
  task.add_metrics({{"case_dice"}});
  const training::Report report = task.report({data::Split::kTest});
  CHECK(report.details.at("score_size").as_string() == "original");
  CHECK_THAT(report.lines.front(), Catch::Contains("scored at the size of the files"));
  const training::Table* volumes = test::find_table(report, "volumes");
  REQUIRE(volumes != nullptr);
  CHECK(test::texts_in(volumes->columns.front()).front() == "patient002_frame01");
  CHECK(std::get<std::vector<std::int64_t>>(volumes->columns[1].values).front() == kDepth);

  LabelSegmentation lacking(model, hearts(limited.path, R"(, "limit": {"test": 4})"));
  lacking.add_metrics({{"case_dice"}});
  const std::vector<std::string> lines = lacking.report({data::Split::kTest}).lines;
  CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("volumes are without some of their slices") != std::string::npos;
  }));
}
