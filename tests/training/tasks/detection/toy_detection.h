// Four images with known objects, and a detector that says what it is told to, by the size of the
// image that it sees.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/boxes/box_dataset.h"
#include "models/detectors/detector.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/training/toy_task.h"
#include "training/batch_source.h"

namespace fovea::test {

using data::BoxedObject;

/// Images of 40 x 60, 60 x 40, 48 x 48 (with nothing in it) and 50 x 30 (with a crowd), whose masks
/// fill their boxes.
class ToyBoxes final : public data::BoxPart {
 public:
  ToyBoxes() {
    data::BoxInfo info;
    info.class_names = {"cell", "platelet"};
    info.has_masks = true;
    describe(std::move(info));
    add({"one.png", 40, 60, 11, {object({10, 10, 40, 30}, 0), object({44, 4, 56, 20}, 1)}});
    add({"two.png", 60, 40, 12, {object({5, 20, 35, 50}, 1)}});
    add({"none.png", 48, 48, 13, {}});
    BoxedObject crowd = object({2, 2, 28, 20}, 0);
    crowd.crowd = true;
    add({"crowd.png", 50, 30, 14, {crowd, object({4, 24, 24, 46}, 0)}});
  }

  data::Image read(std::int64_t index) const override {
    const data::BoxedImage& own = image(index);
    return {own.height, own.width, 3,
            std::vector<std::uint8_t>(static_cast<std::size_t>(3 * own.height * own.width), 128)};
  }
  std::vector<MaskRuns> read_masks(std::int64_t index) const override {
    const data::BoxedImage& own = image(index);
    std::vector<MaskRuns> masks;
    for (const BoxedObject& object : own.objects) {
      std::vector<std::uint8_t> mask;
      for (std::int64_t y = 0; y < own.height; ++y) {
        for (std::int64_t x = 0; x < own.width; ++x) {
          const auto column = static_cast<double>(x), row = static_cast<double>(y);
          mask.push_back(column >= object.box[0] && column < object.box[2] &&
                         row >= object.box[1] && row < object.box[3]);
        }
      }
      masks.push_back(encode_mask(mask, own.height, own.width));
    }
    return masks;
  }
  std::vector<std::filesystem::path> files() const override { return {}; }

 private:
  static BoxedObject object(std::array<double, 4> box, std::int64_t label) {
    return {.box = box, .label = label, .area = (box[2] - box[0]) * (box[3] - box[1])};
  }
};

/// What is found in an image of which the network sees that size.
struct Told {
  std::array<float, 4> box;
  std::int64_t label = 0;
  float score = 1;
};
using Tell = std::function<std::vector<Told>(const models::ImageSize&)>;

class ToldDetector final : public models::Detector {
 public:
  ToldDetector(const Device& host, Tell tell, bool masks)
      : host_(host),
        tell_(std::move(tell)),
        masks_(masks),
        weight_(parameter("weight", ops::ones({1}, DType::kFloat32, host))) {}
  std::string type() const override { return "ToldDetector"; }
  bool makes_masks() const override { return masks_; }

  /// What losses() was given.
  std::vector<models::DetectionTruth> truth;
  std::vector<models::ImageSize> sizes;

 protected:
  models::Outputs forward(const models::Inputs&, attention::Probe*) override {
    return {.maps = {ops::mul(weight_, 2.0)}};
  }
  Losses losses_of(const models::Outputs& out, const std::vector<models::ImageSize>& seen,
                   const std::vector<models::DetectionTruth>& there) override {
    truth = there;
    sizes = seen;
    const Tensor sum = ops::sum(out.maps.front());
    return {{"loss_cls", sum}, {"loss_bbox", ops::mul(sum, 0.25)}};
  }
  std::vector<models::Detections> detections(const models::Outputs&,
                                             const std::vector<models::ImageSize>& seen) override {
    std::vector<models::Detections> all;
    for (const models::ImageSize& size : seen) {
      std::vector<float> boxes, scores;
      std::vector<std::int64_t> labels;
      for (const Told& told : tell_(size)) {
        boxes.insert(boxes.end(), told.box.begin(), told.box.end());
        scores.push_back(told.score);
        labels.push_back(told.label);
      }
      const std::int64_t n = std::ssize(scores);
      all.push_back({Tensor::from(boxes, {n, 4}, host_),
                     Tensor::from(scores, {n}, host_),
                     Tensor::from(labels, {n}, host_),
                     {}});
      if (masks_) all.back().masks = ops::ones({n, 28, 28}, DType::kFloat32, host_);
    }
    return all;
  }

 private:
  Device host_;
  Tell tell_;
  bool masks_;
  Tensor weight_;
};

/// Twice as large as in the files: the shorter side has `min_size` pixels.
inline data::BoxOptions toy_options(bool masks) {
  data::BoxOptions options;
  options.min_size = 80;
  options.max_size = 120;
  options.masks = masks;
  options.filter_empty = false;
  return options;
}

inline std::shared_ptr<training::BatchSource> toy_boxes(const Device& host, bool masks,
                                                        std::int64_t batch_size = 3) {
  const auto part = std::make_shared<const ToyBoxes>();
  const std::vector<std::int64_t> all = {0, 1, 2, 3};
  data::Splits splits;
  splits.train =
      std::make_shared<const data::BoxDataset>(part, data::Split::kTrain, all, toy_options(masks));
  splits.test =
      std::make_shared<const data::BoxDataset>(part, data::Split::kTest, all, toy_options(masks));
  training::BatchOptions batches;
  batches.host = host;
  batches.train.batch_size = batch_size;
  return std::make_shared<training::BatchSource>(std::move(splits), batches);
}

/// The truth of ToyBoxes without crowds, in an image of that size.
inline std::vector<Told> toy_truth(const models::ImageSize& seen) {
  const ToyBoxes boxes;
  for (std::int64_t i = 0; i < boxes.size(); ++i) {
    const data::BoxedImage& image = boxes.image(i);
    // All have other proportions.
    if (seen[0] * image.width != seen[1] * image.height) continue;
    const double by = static_cast<double>(seen[0]) / static_cast<double>(image.height);
    std::vector<Told> told;
    for (const BoxedObject& object : image.objects) {
      if (object.crowd) continue;
      told.push_back({{}, object.label, 0.9f});
      for (std::size_t k = 0; k < 4; ++k)
        told.back().box[k] = static_cast<float>(object.box[k] * by);
    }
    return told;
  }
  return {};
}

}  // namespace fovea::test
