#include "ops/detection/nms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "ops/detection/boxes.h"
#include "ops/detection/proposals.h"
#include "tests/ops/detection/host_tables.h"

using namespace fovea;
using namespace fovea::test;

namespace {

using Rows = std::vector<std::int64_t>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor list(const std::vector<float>& values) {
  return Tensor::from(values, {std::ssize(values)}, make_cpu(1));
}

// n boxes around few places, so that most of them overlap.
Tensor crowd(std::int64_t n, std::uint64_t seed) {
  const RandomStream random(seed);
  std::vector<float> values;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(n); ++i) {
    const float x = 40 * std::floor(4 * random.uniform(5 * i)) + 10 * random.uniform(5 * i + 1);
    const float y = 40 * std::floor(3 * random.uniform(5 * i + 2)) + 10 * random.uniform(5 * i + 3);
    const float side = 20 + 20 * random.uniform(5 * i + 4);
    values.insert(values.end(), {x, y, x + side, y + 30});
  }
  return host_table(values, 4);
}

Tensor some_scores(std::int64_t n, std::uint64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(RandomStream(seed).uniform(static_cast<std::uint64_t>(i)));
  return list(values);
}

// By the words of the definition, on the matrix of overlaps.
Rows by_definition(const Tensor& boxes, const Tensor& scores, const Rows& groups,
                   double threshold) {
  const std::int64_t n = boxes.size(0);
  const Tensor iou = ops::box_iou(boxes, boxes);
  Rows order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return scores.data<float>()[a] > scores.data<float>()[b];
  });
  Rows kept;
  for (const std::int64_t i : order) {
    const bool stays = std::none_of(kept.begin(), kept.end(), [&](std::int64_t k) {
      return groups[static_cast<std::size_t>(k)] == groups[static_cast<std::size_t>(i)] &&
             static_cast<double>(iou.data<float>()[i * n + k]) > threshold;
    });
    if (stays) kept.push_back(i);
  }
  return kept;
}

}  // namespace

TEST_CASE("nms: by definition, in groups and without", "[ops]") {
  for (const double threshold : {0.3, 0.5, 0.7}) {
    const Tensor boxes = crowd(300, 1), scores = some_scores(300, 2);
    CHECK(ops::nms(boxes, scores, threshold) ==
          by_definition(boxes, scores, Rows(300, 0), threshold));
    Rows groups;
    for (std::int64_t i = 0; i < 300; ++i) groups.push_back(i % 7 - 3);
    const Rows kept = ops::batched_nms(boxes, scores, groups, threshold);
    CHECK(kept == by_definition(boxes, scores, groups, threshold));
    CHECK(kept.size() > ops::nms(boxes, scores, threshold).size());
  }
}

TEST_CASE("nms: equal scores, overlap at the threshold, scores that are no numbers", "[ops]") {
  const Tensor boxes = host_table({0, 0, 4, 4, 0, 0, 4, 2, 0, 0, 4, 4, 9, 9, 9, 12}, 4);
  // The second box overlaps the first one by exactly a half: it stays.
  CHECK(ops::nms(boxes, list({1, 1, 1, 1}), 0.5) == Rows{0, 1, 3});
  CHECK(ops::nms(boxes, list({1, 1, 1, 1}), 0.49) == Rows{0, 3});
  CHECK(ops::nms(boxes, list({kNan, 0.5f, 2, -1}), 0.5) == Rows{2, 1, 3});
  CHECK(ops::nms(host_table({}, 4), list({}), 0.5).empty());
  CHECK_THROWS_AS(ops::nms(boxes, list({1, 1}), 0.5), ShapeError);
  CHECK_THROWS_AS(ops::batched_nms(boxes, list({1, 1, 1, 1}), {0, 1}, 0.5), ShapeError);
}

TEST_CASE("multiclass_nms: every class for itself, the best of all", "[ops]") {
  const Tensor boxes = host_table({0, 0, 4, 4, 0, 0, 4, 3.9f, 10, 10, 14, 14}, 4);
  const Tensor scores = host_table({0.9f, 0.3f, 0.8f, 0.6f, 0.05f, 0.2f}, 2);
  ops::Kept kept = ops::multiclass_nms(boxes, scores, 0.05, 0.5, 10);
  CHECK(kept.rows == Rows{0, 1, 2});
  CHECK(to_doubles(kept.labels) == std::vector<double>{0, 1, 1});
  CHECK(kept.scores.values<float>()[1] == 0.6f);
  kept = ops::multiclass_nms(boxes, scores, 0.05, 0.99, 2);
  CHECK(kept.rows == Rows{0, 1});
  CHECK(ops::multiclass_nms(boxes, scores, 0.05, 0.99, -1).rows == Rows{0, 1, 1, 0, 2});
  // A box for each class.
  const Tensor own = host_table(
      {0, 0, 4, 4, 20, 20, 24, 24, 0, 0, 4, 4, 40, 20, 44, 24, 1, 1, 2, 2, 3, 3, 4, 4}, 8);
  kept = ops::multiclass_nms(own, scores, 0.05, 0.5, 10);
  CHECK(kept.rows == Rows{0, 1, 0, 2});
  CHECK(kept.boxes.values<float>()[4] == 40);
  CHECK(kept.boxes.values<float>()[8] == 20);
  kept = ops::multiclass_nms(boxes, scores, 0.95, 0.5, 10);
  CHECK(kept.boxes.shape() == Shape{0, 4});
  CHECK(kept.labels.shape() == Shape{0});
  CHECK_THROWS_AS(ops::multiclass_nms(boxes, host_table({1, 2, 3, 4}, 2), 0, 0.5, 1), ShapeError);
}

TEST_CASE("rpn_proposals: the best of every level, clipped, without empty ones", "[ops]") {
  const Tensor anchors = host_table({0, 0, 8, 8, 0, 0, 8, 7, 30, 30, 50, 50, -9, -9, -1, -1}, 4);
  const Tensor still = host_table(std::vector<float>(16, 0), 4);
  const ops::ProposalLevel level{anchors, list({0, 2, 1, 5}), still};
  // The fourth anchor lies outside; the first one overlaps the second.
  ops::Proposals found = ops::rpn_proposals({level}, 40, 60, {});
  CHECK(to_doubles(found.boxes) == std::vector<double>{0, 0, 8, 7, 30, 30, 50, 40});
  CHECK(found.scores.values<float>()[0] == Approx(1 / (1 + std::exp(-2.0))));
  // Levels do not suppress each other.
  found = ops::rpn_proposals({level, level}, 40, 60, {});
  CHECK(found.boxes.size(0) == 4);
  CHECK(ops::rpn_proposals({level, level}, 40, 60, {.most = 3}).boxes.size(0) == 3);
  // Of the two best logits one is that of the anchor outside.
  CHECK(to_doubles(ops::rpn_proposals({level}, 40, 60, {.nms_pre = 2}).boxes) ==
        std::vector<double>{0, 0, 8, 7});
  const ops::ProposalLevel broken{anchors, list({kNan, 2, 1, 5}),
                                  host_table(std::vector<float>(16, kNan), 4)};
  CHECK(ops::rpn_proposals({broken}, 40, 60, {}).boxes.shape() == Shape{0, 4});
  const ops::ProposalLevel nothing{host_table({}, 4), list({}), host_table({}, 4)};
  CHECK(ops::rpn_proposals({nothing}, 40, 60, {}).scores.shape() == Shape{0});
  CHECK_THROWS_AS(ops::rpn_proposals({{anchors, list({1}), still}}, 40, 60, {}), ShapeError);
}
