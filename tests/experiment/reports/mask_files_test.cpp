// Predicted masks and volumes as files.
#include "experiment/reports/mask_files.h"

#include <catch2/catch.hpp>

#include "data/files/pictures/image_file.h"
#include "ops/create.h"
#include "tests/training/hearts.h"

using namespace fovea;
using experiment::MaskFiles;
using test::kDepth;
using test::kHeight;
using test::kWidth;

namespace {

// What MaskFiles wrote of the test part of hearts.
std::vector<std::string> save(training::LabelSegmentation& task, const io::fs::path& folder,
                              const std::set<std::string>& wanted) {
  const auto& images = data::images_of(task.source().at(data::Split::kTest));
  MaskFiles files(task.source(), data::Split::kTest, folder, wanted, task.postprocessing(),
                  images.label_values());
  training::ReportRequest request;
  request.maps = [&](const data::Batch& batch, const Tensor& probabilities, const Tensor& labels) {
    files.add(batch, probabilities, labels);
  };
  task.report(request);
  return files.finish();
}

}  // namespace

TEST_CASE("mask files: predictions of slices leave as the files are", "[experiment]") {
  const test::Folder folder("volumes_saved"), out("volumes_report");
  test::OneGreyConvolution model;
  model.train(false);
  const auto source = test::hearts(folder.path);
  training::LabelSegmentation task(model, source);
  CHECK(save(task, out.path, {"volumes", "original_masks"}) ==
        std::vector<std::string>{"predicted_masks_original", "predicted_volumes"});
  for (const char* frame : {"frame01", "frame07"}) {
    const std::string name = std::string("patient002_") + frame;
    const auto [truth, found] =
        test::truth_and_prediction(task, *source, name.ends_with("1") ? 0 : kDepth);
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
}

TEST_CASE("mask files: a volume without some of its slices is written whole", "[experiment]") {
  const test::Folder folder("volumes_limited"), out("volumes_limited_report");
  test::OneGreyConvolution model;
  model.train(false);
  training::LabelSegmentation task(model, test::hearts(folder.path, R"(, "limit": {"test": 4})"));
  save(task, out.path, {"volumes"});
  CHECK(data::read_nifti(out.path / "predicted_volumes/patient002_frame07.nii.gz").depth == kDepth);
}

TEST_CASE("mask files: maps of several sizes are not written into one tensor", "[experiment]") {
  const test::Folder folder("sizes_data"), out("sizes_report");
  const auto source = test::hearts(folder.path);
  MaskFiles files(*source, data::Split::kTest, out.path, {"probabilities"}, {});
  const auto add = [&](std::int64_t width) {
    data::Batch batch;
    batch.indices = {0};
    batch.geometry.resize(1);
    files.add(batch, ops::full({1, 2, 3, width}, 0.5, DType::kFloat32, test::cpu()), {});
  };
  add(4);
  add(4);
  CHECK_THROWS_WITH(add(5), Catch::Contains("maps of (2, 3, 4) and of (2, 3, 5) do not fit into "
                                            "one tensor; save masks or original_masks"));
}
