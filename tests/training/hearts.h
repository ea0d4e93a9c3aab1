// Two patients with hearts as slices of volumes, and a network for them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/files/nifti.h"
#include "data/images/image_dataset.h"
#include "data/registry.h"
#include "nn/convolution.h"
#include "tests/data/nifti_files.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/tasks/segmentation/segmentation.h"

namespace fovea::test {

class OneGreyConvolution final : public models::ModelOf<models::Interface::kDenseNetwork> {
 public:
  OneGreyConvolution()
      : conv_(child<nn::Conv2d>("conv", nn::Build{cpu(), DType::kFloat32, RandomStream(3), {}}, 1,
                                4, ops::Sizes{3}, ops::ConvOptions{.padding = {1}})) {}
  std::string type() const override { return "OneGreyConvolution"; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe*) override {
    return {.maps = {conv_(in.image)}};
  }

 private:
  nn::Conv2d& conv_;
};

inline constexpr std::int64_t kDepth = 3, kHeight = 9, kWidth = 14;

// Patient 1 to train on, patient 2 to test: bars of classes 1 to 3 that move from slice to slice.
inline void write_hearts(const io::fs::path& root) {
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

inline std::shared_ptr<training::BatchSource> hearts(const io::fs::path& root,
                                                     const std::string& more = "") {
  write_hearts(root);
  training::BatchOptions options;
  options.train.batch_size = 4;
  options.host = cpu();
  return std::make_shared<training::BatchSource>(
      data::make_splits(component(R"({"type": "acdc", "img_size": 12, "root": ")" + root.string() +
                                  "\"" + more + "}")),
      options);
}

using HeartLabels = std::vector<std::int64_t>;

// Of one volume of the test part: its labels, and what is predicted at their size.
inline std::pair<HeartLabels, HeartLabels> truth_and_prediction(training::LabelSegmentation& task,
                                                                const training::BatchSource& source,
                                                                std::int64_t first) {
  std::pair<HeartLabels, HeartLabels> volumes;
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

}  // namespace fovea::test
