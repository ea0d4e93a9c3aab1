#include "ops/detection/assign.h"

#include "base/error.h"
#include "ops/detection/sample.h"
#include "tests/ops/detection/host_tables.h"

using namespace fovea;
using namespace fovea::test;

namespace {

using Numbers = std::vector<std::int64_t>;

// Overlaps with the object (0, 0, 10, 10): 1, 0.6, 0.4, 0.4, 0.2, 0.
const std::vector<float> kBoxes{0, 0, 10, 10, 0, 0, 10, 6, 0,  0,  10, 4,
                                0, 0, 4,  10, 0, 0, 10, 2, 20, 20, 30, 30};
const std::vector<float> kObject{0, 0, 10, 10};

}  // namespace

TEST_CASE("assign_boxes: thresholds are met from below and from above", "[ops]") {
  const ops::AssignOptions options{.positive = 0.6, .negative = 0.4};
  CHECK(ops::assign_boxes(boxes(kBoxes), boxes(kObject), options) == Numbers{1, 1, -1, -1, 0, 0});
  CHECK(ops::assign_boxes(boxes(kBoxes), boxes(kObject), {.positive = 0.7, .negative = 0.3}) ==
        Numbers{1, -1, -1, -1, 0, 0});
}

TEST_CASE("assign_boxes: an object takes its best boxes, all of equal ones", "[ops]") {
  const Tensor far = boxes({0, 0, 10, 4, 0, 0, 4, 10, 0, 0, 10, 2});
  ops::AssignOptions options{
      .positive = 0.7, .negative = 0.5, .min_positive = 0.3, .low_quality = true};
  CHECK(ops::assign_boxes(far, boxes(kObject), options) == Numbers{1, 1, 0});
  options.min_positive = 0.5;
  CHECK(ops::assign_boxes(far, boxes(kObject), options) == Numbers{0, 0, 0});
  // A later object takes a box away from an earlier one.
  options = {.positive = 0.5, .negative = 0.5, .min_positive = 0.1, .low_quality = true};
  CHECK(ops::assign_boxes(boxes({0, 0, 10, 10}), boxes({0, 0, 10, 9, 0, 0, 10, 4}), options) ==
        Numbers{2});
  options.low_quality = false;
  CHECK(ops::assign_boxes(boxes({0, 0, 10, 10}), boxes({0, 0, 10, 9, 0, 0, 10, 4}), options) ==
        Numbers{1});
}

TEST_CASE("assign_boxes: no truth, no boxes, objects of no area", "[ops]") {
  const ops::AssignOptions retina{
      .positive = 0.5, .negative = 0.4, .min_positive = 0, .low_quality = true};
  CHECK(ops::assign_boxes(boxes(kBoxes), boxes({}), retina) == Numbers(6, 0));
  CHECK(ops::assign_boxes(boxes({}), boxes(kObject), retina).empty());
  // It meets nothing: 0 is its largest overlap, which is that of every box.
  CHECK(ops::assign_boxes(boxes(kBoxes), boxes({5, 5, 5, 9}), retina) == Numbers(6, 1));
  const ops::AssignOptions rpn{
      .positive = 0.7, .negative = 0.3, .min_positive = 0.3, .low_quality = true};
  CHECK(ops::assign_boxes(boxes(kBoxes), boxes({5, 5, 5, 9}), rpn) == Numbers(6, 0));
}

TEST_CASE("assign_boxes: boxes in crowds are ignored, and no object takes them", "[ops]") {
  const ops::AssignOptions options{
      .positive = 0.6, .negative = 0.3, .min_positive = 0, .low_quality = true};
  // Half of the first box lies in the crowd, a third of the second one.
  const Tensor crowd = boxes({0, 5, 10, 50, 20, 20, 30, 30});
  CHECK(ops::assign_boxes(boxes(kBoxes), boxes(kObject), options, crowd) ==
        Numbers{-1, 1, -1, -1, 0, -1});
  CHECK(ops::assign_boxes(boxes(kBoxes), boxes({}), options, crowd) ==
        Numbers{-1, 0, 0, -1, 0, -1});
  CHECK_THROWS_AS(ops::assign_boxes(boxes(kBoxes), boxes({}), options, crowd.alias({8})),
                  ShapeError);
}

TEST_CASE("sample_boxes: shares, what is missing, nothing twice", "[ops]") {
  Numbers assigned(100, 0);
  for (std::size_t i = 0; i < 30; ++i) assigned[3 * i] = 1 + static_cast<std::int64_t>(i % 4);
  for (std::size_t i = 0; i < 10; ++i) assigned[3 * i + 1] = -1;
  const RandomStream random(3);
  const ops::Sampled some = ops::sample_boxes(assigned, 21, 0.5, random);
  CHECK(some.positive.size() == 10);
  CHECK(some.negative.size() == 11);
  const auto check = [&](const Numbers& list, auto fits) {
    CHECK(std::is_sorted(list.begin(), list.end()));
    CHECK(std::adjacent_find(list.begin(), list.end()) == list.end());
    for (const std::int64_t i : list) CHECK(fits(assigned[static_cast<std::size_t>(i)]));
  };
  check(some.positive, [](std::int64_t to) { return to > 0; });
  check(some.negative, [](std::int64_t to) { return to == 0; });
  CHECK(ops::sample_boxes(assigned, 21, 0.5, random).negative == some.negative);
  CHECK(ops::sample_boxes(assigned, 21, 0.5, RandomStream(4)).negative != some.negative);
  // Fewer positive ones than their share: the rest is negative.
  const ops::Sampled most = ops::sample_boxes(assigned, 80, 0.5, random);
  CHECK(most.positive.size() == 30);
  CHECK(most.negative.size() == 50);
  const ops::Sampled all = ops::sample_boxes(assigned, 512, 0.25, random);
  CHECK(all.positive.size() == 30);
  CHECK(all.negative.size() == 60);
  CHECK(ops::sample_boxes({}, 512, 0.25, random).negative.empty());
}

TEST_CASE("sample_boxes: every box is drawn as often as any other", "[ops]") {
  const Numbers assigned(20, 0);
  std::vector<int> drawn(20, 0);
  constexpr int kTimes = 4000;
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    for (const std::int64_t box : ops::sample_boxes(assigned, 5, 0.5, RandomStream(i)).negative)
      ++drawn[static_cast<std::size_t>(box)];
  }
  // 1000 each; the standard deviation is 27.
  for (const int times : drawn) CHECK(std::abs(times - 1000) < 140);
}
