#include "models/detectors/roi_samples.h"

#include <algorithm>

#include "models/detectors/truth.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using models::DetectionTruth;
using models::RoiSamples;

namespace {

Tensor host_boxes(const std::vector<float>& sides) {
  return Tensor::from(sides, {std::ssize(sides) / 4, 4}, make_cpu(1));
}

DetectionTruth two_squares() {
  return {host_boxes({0, 0, 10, 10, 20, 20, 40, 40}),
          Tensor::from(std::vector<std::int64_t>{2, 1}, {2}, make_cpu(1)),
          {},
          {}};
}

const models::RoiSamplingOptions kSampling{
    .assigning = {.positive = 0.5, .negative = 0.5, .min_positive = 0.5, .low_quality = true},
    .num_samples = 8,
    .positive_fraction = 0.5,
    .num_classes = 3};

}  // namespace

TEST_CASE("roi samples: boxes of the truth are among the positive ones, in front", "[models]") {
  const Tensor proposals = host_boxes({21, 20, 41, 40, 50, 50, 60, 60, 0, 0, 4, 4, 70, 70, 75, 80});
  const RoiSamples samples = sample_rois(proposals, two_squares(), kSampling, RandomStream(1));
  REQUIRE(samples.boxes.shape() == Shape{6, 4});
  CHECK(samples.positive() == 3);
  CHECK(samples.matched == std::vector<std::int64_t>{0, 1, 1});
  CHECK(samples.labels == std::vector<std::int64_t>{2, 1, 1, 3, 3, 3});
  CHECK(samples.from_truth == std::vector<bool>{true, true, false, false, false, false});
  const auto boxes = samples.boxes.host_values<float>();
  CHECK(std::vector<float>(boxes.begin(), boxes.begin() + 12) ==
        std::vector<float>{0, 0, 10, 10, 20, 20, 40, 40, 21, 20, 41, 40});
}

TEST_CASE("roi samples: the truth takes no best proposal away from itself", "[models]") {
  // Overlaps 0.45 and is the best proposal of the second object.
  const Tensor proposals = host_boxes({20, 20, 40, 29});
  auto sampling = kSampling;
  sampling.assigning.positive = 0.7;
  sampling.assigning.min_positive = 0.4;
  const RoiSamples samples = sample_rois(proposals, two_squares(), sampling, RandomStream(1));
  CHECK(samples.labels == std::vector<std::int64_t>{2, 1, 1});
}

TEST_CASE("roi samples: no more than asked for, without truth, without proposals", "[models]") {
  std::vector<float> many;
  for (int i = 0; i < 50; ++i) many.insert(many.end(), {20, 20, 40, 41});
  for (int i = 0; i < 50; ++i) many.insert(many.end(), {60, 60, 70, 71});
  const RoiSamples samples =
      sample_rois(host_boxes(many), two_squares(), kSampling, RandomStream(1));
  CHECK(samples.boxes.size(0) == 8);
  CHECK(samples.positive() == 4);

  const DetectionTruth none{
      host_boxes({}), Tensor::from(std::vector<std::int64_t>{}, {0}, make_cpu(1)), {}, {}};
  const RoiSamples background = sample_rois(host_boxes(many), none, kSampling, RandomStream(1));
  CHECK(background.positive() == 0);
  CHECK(background.labels == std::vector<std::int64_t>(8, 3));
  CHECK(sample_rois(host_boxes({}), none, kSampling, RandomStream(1)).boxes.shape() == Shape{0, 4});
  CHECK(sample_rois(host_boxes({}), two_squares(), kSampling, RandomStream(1)).positive() == 2);
}

TEST_CASE("roi samples: regions of a batch carry the number of their image", "[models]") {
  const Tensor rois =
      models::rois_of({host_boxes({1, 2, 3, 4}), host_boxes({}), host_boxes({5, 6, 7, 8})}, 3);
  const auto values = rois.host_values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) ==
        std::vector<float>{3, 1, 2, 3, 4, 5, 5, 6, 7, 8});
}
