#include "metrics/segmentation.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/random.h"

using fovea::metrics::Empty;
using fovea::metrics::MaskCounts;

TEST_CASE("mask counts: thresholds are inclusive and nan is background", "[metrics]") {
  MaskCounts counts;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  counts.add(std::vector<float>{0.5f, 0.49f, 1.0f, 0.0f, nan},
             std::vector<float>{0.5f, 0.6f, 0.49f, 0.0f, 0.0f});
  CHECK(counts.true_positives() == 1);
  CHECK(counts.false_negatives() == 1);
  CHECK(counts.false_positives() == 1);
  CHECK(counts.true_negatives() == 2);
  CHECK(counts.iou() == Approx(1.0 / 3));
  CHECK(counts.dice() == Approx(0.5));
  CHECK(counts.accuracy() == Approx(0.6));
  CHECK(counts.sensitivity() == Approx(0.5));
  CHECK(counts.specificity() == Approx(2.0 / 3));
  CHECK_THROWS_AS(counts.add(std::vector<float>{1}, std::vector<float>{}), fovea::ShapeError);
}

TEST_CASE("mask counts: nothing to count gives 0, the same masks give 1", "[metrics]") {
  MaskCounts counts;
  CHECK(counts.iou() == 0.0);
  CHECK(counts.accuracy() == 0.0);
  counts.add(std::vector<float>{0, 0}, std::vector<float>{0, 0});
  CHECK(counts.dice() == 0.0);
  CHECK(counts.accuracy() == 1.0);
  counts.add(std::vector<float>{1, 0}, std::vector<float>{1, 0});
  CHECK(counts.iou() == 1.0);
  CHECK(counts.dice() == 1.0);
}

TEST_CASE("mask counts: one matrix over the set, not a mean over images", "[metrics]") {
  const auto draw = [](std::uint64_t seed, std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = fovea::RandomStream(seed).uniform(i);
    return values;
  };
  MaskCounts whole, parts, other;
  std::vector<float> all_prob, all_target;
  for (std::uint64_t image = 0; image < 5; ++image) {
    const std::size_t n = 7 + 3 * image;
    const auto prob = draw(image, n);
    const auto target = draw(image + 50, n);
    (image < 2 ? parts : other).add(prob, target);
    all_prob.insert(all_prob.end(), prob.begin(), prob.end());
    all_target.insert(all_target.end(), target.begin(), target.end());
  }
  whole.add(all_prob, all_target);
  parts.add(other);
  CHECK(parts.iou() == whole.iou());
  CHECK(parts.dice() == whole.dice());
  CHECK(whole.dice() == Approx(2 * whole.iou() / (1 + whole.iou())));
  MaskCounts swapped;
  swapped.add(all_target, all_prob);
  CHECK(swapped.dice() == whole.dice());
}

TEST_CASE("mask counts: images without foreground, and the IoU of the background", "[metrics]") {
  MaskCounts nothing, missed, invented;
  nothing.add(std::vector<float>{0, 0, 0}, std::vector<float>{0, 0, 0});
  CHECK(nothing.both_are_empty());
  CHECK(nothing.dice(Empty::kOne) == 1.0);
  CHECK(nothing.iou(Empty::kOne) == 1.0);
  CHECK(nothing.background_iou() == 1.0);
  invented.add(std::vector<float>{1, 0, 0}, std::vector<float>{0, 0, 0});
  CHECK(invented.truth_is_empty());
  CHECK_FALSE(invented.both_are_empty());
  CHECK(invented.dice(Empty::kOne) == 0.0);
  CHECK(invented.background_iou() == Approx(2.0 / 3));
  missed.add(std::vector<float>{0, 0, 0}, std::vector<float>{1, 0, 0});
  CHECK_FALSE(missed.truth_is_empty());
  CHECK(missed.iou(Empty::kOne) == 0.0);
}
