// Slices of volumes are scored and written as volumes, at the size of their files.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/files/image_file.h"
#include "data/files/nifti.h"
#include "data/images/image_dataset.h"
#include "data/registry.h"
#include "nn/convolution.h"
#include "tests/data/nifti_files.h"
#include "tests/metrics/distances.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/tasks/segmentation/segmentation.h"

using namespace fovea;
using training::BatchSource;
using training::LabelSegmentation;

namespace {

class OneGreyConvolution final : public models::ModelOf<models::Interface::kDenseNetwork> {
 public:
  OneGreyConvolution()
      : conv_(child<nn::Conv2d>("conv",
                                nn::Build{test::cpu(), DType::kFloat32, RandomStream(3), {}}, 1, 4,
                                ops::Sizes{3}, ops::ConvOptions{.padding = {1}})) {}
  std::string type() const override { return "OneGreyConvolution"; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe*) override {
    return {.maps = {conv_(in.image)}};
  }

 private:
  nn::Conv2d& conv_;
};

constexpr std::int64_t kDepth = 3, kHeight = 9, kWidth = 14;

// Patient 1 to train on, patient 2 to test: bars of classes 1 to 3 that move from slice to slice.
void write_hearts(const io::fs::path& root) {
  using data::test::NiftiFile;
  for (const char* patient : {"patient001", "patient002"}) {
    io::make_directories(root / patient);
    for (const int frame : {1, 7}) {
      NiftiFile image{.depth = kDepth, .height = kHeight, .width = kWidth, .values = {}};
      NiftiFile labels = image;
      for (std::int64_t i = 0; i < kDepth * kHeight * kWidth; ++i) {
        const std::int64_t k = i / (kHeight * kWidth), x = i % kWidth, y = i / kWidth % kHeight;
        const std::int64_t bar = (x + k) / 3;
        const auto label =
            static_cast<std::int16_t>(y > 1 && y < 7 && bar > 0 && bar < 4 ? bar : 0);
        labels.values.push_back(label);
        image.values.push_back(static_cast<std::int16_t>(40 * label + (i * frame) % 17));
      }
      const std::string name = std::string(patient) + "_frame0" + std::to_string(frame);
      io::write_atomic(root / patient / (name + ".nii"), image.bytes());
      io::write_atomic(root / patient / (name + "_gt.nii"), labels.bytes());
    }
  }
}

std::shared_ptr<BatchSource> hearts(const io::fs::path& root, const std::string& more = "") {
  write_hearts(root);
  training::BatchOptions options;
  options.train.batch_size = 4;
  options.host = test::cpu();
  return std::make_shared<BatchSource>(
      data::make_splits(test::component(R"({"type": "acdc", "img_size": 12, "root": ")" +
                                        root.string() + "\"" + more + "}")),
      options);
}

using Volume = std::vector<std::int64_t>;

// Of one volume of the test part: its labels, and what is predicted at their size.
std::pair<Volume, Volume> truth_and_prediction(LabelSegmentation& task, const BatchSource& source,
                                               std::int64_t first) {
  std::pair<Volume, Volume> volumes;
  for (std::int64_t i = first; i < first + kDepth; ++i) {
    const data::ImageDataset& images = data::images_of(source.at(data::Split::kTest));
    const data::Batch sample = source.one(data::Split::kTest, i);
    const Tensor seen = metrics::predicted_labels(task.output(sample).maps.front());
    const Tensor whole = images.at_original(seen, kHeight, kWidth), truth = images.original_mask(i);
    for (const std::int64_t label : truth.values<std::int64_t>()) volumes.first.push_back(label);
    for (const std::int64_t label : whole.values<std::int64_t>()) volumes.second.push_back(label);
  }
  return volumes;
}

}  // namespace

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
      CHECK((full.cases[v].distances.at("hd95")[c] == pixels[v][c] || std::isnan(pixels[v][c])));
      CHECK((full.cases[v].distances.at("hd95_mm")[c] == millimetres[v][c] ||
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

TEST_CASE("segmentation volumes: predictions leave as the files are", "[training]") {
  const test::Folder folder("volumes_saved"), out("volumes_report");
  OneGreyConvolution model;
  model.train(false);
  const auto source = hearts(folder.path);
  LabelSegmentation task(model, source);
  task.add_metrics({{"case_dice"}});
  const training::Report report = task.report({.split = data::Split::kTest,
                                               .folder = out.path,
                                               .title = "t",
                                               .save = {"volumes", "original_masks"},
                                               .pictures = 1});
  CHECK(report.saved == std::vector<std::string>{"predicted_masks_original", "predicted_volumes"});
  CHECK(report.details.at("score_size").as_string() == "original");
  CHECK_THAT(report.lines.front(), Catch::Contains("scored at the size of the files"));
  for (const char* frame : {"frame01", "frame07"}) {
    const std::string name = std::string("patient002_") + frame;
    const auto [truth, found] =
        truth_and_prediction(task, *source, name.ends_with("1") ? 0 : kDepth);
    const data::Volume volume =
        data::read_nifti(out.path / "predicted_volumes" / (name + ".nii.gz"));
    CHECK(volume.depth == kDepth);
    CHECK(volume.spacing == std::array<double, 3>{8, 1.25, 1.5});
    CHECK(std::vector<std::int64_t>(volume.values.begin(), volume.values.end()) == found);
    const data::Image slice =
        data::read_image(out.path / "predicted_masks_original" / (name + "_slice002.png"));
    CHECK(std::vector<std::int64_t>(slice.pixels.begin(), slice.pixels.end()) ==
          std::vector<std::int64_t>(found.end() - kHeight * kWidth, found.end()));
  }
  CHECK_THAT(io::read_text(out.path / "volumes.csv"), Catch::Contains("\npatient002_frame01,3,"));
}

TEST_CASE("segmentation volumes: what lacks slices is said, what is none refused", "[training]") {
  const test::Folder folder("volumes_limited"), out("volumes_limited_report");
  OneGreyConvolution model;
  model.train(false);
  LabelSegmentation task(model, hearts(folder.path, R"(, "limit": {"test": 4})"));
  task.add_metrics({{"case_dice"}});
  const training::Report report = task.report(
      {.split = data::Split::kTest, .folder = out.path, .title = "t", .save = {"volumes"}, .pictures = 0});
  const auto says = [&](const std::string& text) {
    return std::any_of(report.lines.begin(), report.lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  };
  CHECK(says("volumes are without some of their slices"));
  CHECK(data::read_nifti(out.path / "predicted_volumes/patient002_frame07.nii.gz").depth == kDepth);
}
