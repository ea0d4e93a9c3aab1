#include "models/detectors/roi_head.h"

#include <cmath>

#include "base/error.h"
#include "ops/in_place.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using models::DetectionTruth;
using models::RoiHead;
using models::RoiHeadOptions;

namespace {

// Two classes, levels of strides 4 and 8.
RoiHead small_head(RoiHeadOptions o) {
  o.fc_channels = 5;
  o.head_conv_channels = 3;
  o.bbox_side = 3;
  o.mask_side = 2;
  return {{cpu(), DType::kFloat32, RandomStream(4), nn::Init::kTorch}, 3, 2, {4, 8}, o};
}

std::vector<Tensor> small_levels() {
  return {random_tensor({1, 3, 16, 16}, 1, DType::kFloat32),
          random_tensor({1, 3, 8, 8}, 2, DType::kFloat32)};
}

Tensor regions(const std::vector<float>& sides) {
  return Tensor::from(sides, {std::ssize(sides) / 4, 4}, make_cpu(1));
}

// The weights of a layer become 0 and its biases these.
void set_layer(const RoiHead& head, const std::string& name, const std::vector<float>& bias) {
  bool found = false;
  for (const nn::NamedTensor& named : head.parameters()) {
    if (named.name == name + ".weight") ops::fill(named.tensor, 0);
    if (named.name != name + ".bias") continue;
    REQUIRE(named.tensor.numel() == std::ssize(bias));
    named.tensor.upload(bias.data());
    found = true;
  }
  REQUIRE(found);
}

RoiHeadOptions cascade_of(std::size_t stages) {
  RoiHeadOptions o;
  o.cascade = true;
  o.low_quality = false;
  o.iou_thrs = std::vector<double>(stages, 0.5);
  o.stage_weights = std::vector<double>(stages, 1.0);
  return o;
}

}  // namespace

TEST_CASE("roi head: a stage moves the regions of the next one", "[models]") {
  RoiHead head = small_head(cascade_of(2));
  head.train(true);
  // Class 0 goes right by a tenth of its width, class 1 stays.
  set_layer(head, "bbox_head.0.fc_reg", {1, 0, 0, 0, 0, 0, 0, 0});
  set_layer(head, "bbox_head.1.fc_reg", {0, 0, 0, 0, 0, 0, 0, 0});
  const auto losses = [&](std::int64_t label, const Tensor& proposals) {
    const DetectionTruth truth{regions({12, 10, 32, 30}),
                               Tensor::from(std::vector<std::int64_t>{label}, {1}, make_cpu(1)),
                               {},
                               {}};
    head.set_random(RandomStream(1));
    std::map<std::string, double> found;
    for (const auto& [name, loss] : head.losses(small_levels(), {{64, 64}}, {truth}, {proposals}))
      found[name] = to_doubles(loss).at(0);
    return found;
  };
  // The proposal becomes the object, and the object itself is new in every stage.
  const auto moved = losses(0, regions({10, 10, 30, 30}));
  CHECK(moved.at("s0.loss_bbox") > 0.1);
  CHECK(moved.at("s1.loss_bbox") == Approx(0).margin(1e-5));
  const auto left = losses(1, regions({10, 10, 30, 30}));
  CHECK(left.at("s0.loss_bbox") > 0.1);
  CHECK(left.at("s1.loss_bbox") == Approx(left.at("s0.loss_bbox")));
}

TEST_CASE("roi head: detections of several stages", "[models]") {
  RoiHead head = small_head(cascade_of(2));
  head.train(false);
  // Both stages go right by a tenth of the stage's deviations, 0.1 and 0.05, in class 1.
  for (const char* stage : {"bbox_head.0", "bbox_head.1"})
    set_layer(head, std::string(stage) + ".fc_reg", {0, 0, 0, 0, 1, 0, 0, 0});
  set_layer(head, "bbox_head.0.fc_cls", {0, 3, 0});
  set_layer(head, "bbox_head.1.fc_cls", {0, 1, 0});
  const models::Detections found =
      head.detections(small_levels(), 0, {64, 64}, regions({10, 10, 30, 30}));
  REQUIRE(found.scores.size(0) == 2);
  const auto scores = found.scores.host_values<float>();
  const auto labels = found.labels.host_values<std::int64_t>();
  // The mean of the logits is (0, 2, 0).
  CHECK(scores[0] == Approx(std::exp(2.0) / (std::exp(2.0) + 2)));
  CHECK(scores[1] == Approx(1 / (std::exp(2.0) + 2)));
  CHECK(labels[0] == 1);
  const auto boxes = found.boxes.host_values<float>();
  const auto box = [&](std::size_t i) {
    return std::vector<float>(boxes.begin() + 4 * i, boxes.begin() + 4 * (i + 1));
  };
  CHECK(box(0)[0] == Approx(13));
  CHECK(box(0)[2] == Approx(33));
  // Class 0 is moved by the first stage alone, which went with the best class.
  CHECK(box(1)[0] == Approx(12));
}

TEST_CASE("roi head: without proposals nothing is found", "[models]") {
  for (const bool cascade : {false, true}) {
    RoiHeadOptions o = cascade ? cascade_of(3) : RoiHeadOptions{};
    o.masks = true;
    RoiHead head = small_head(o);
    const models::Detections found = head.detections(small_levels(), 0, {64, 64}, regions({}));
    CHECK(found.boxes.shape() == Shape{0, 4});
    CHECK(found.scores.shape() == Shape{0});
    CHECK(found.masks.shape() == Shape{0, 4, 4});
  }
}

TEST_CASE("roi head: numbers that do not fit the stages are refused", "[models]") {
  RoiHeadOptions o = cascade_of(3);
  o.stage_weights = {1, 1};
  CHECK_THROWS_WITH(
      small_head(o),
      "model.rcnn: 3 iou_thrs and 2 stage_weights; expected one of each for each stage");
  o = {};
  o.iou_thrs = {0.5, 0.6};
  o.stage_weights = {1, 1};
  CHECK_THROWS_AS(small_head(o), ConfigError);
}
