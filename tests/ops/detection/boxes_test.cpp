#include "ops/detection/boxes.h"

#include "ops/detection/anchors.h"
#include "tests/ops/detection/host_tables.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::vector<float> values_of(const Tensor& x) {
  const auto values = x.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("box_iou: pairs that meet, touch, hold each other or have no area", "[ops]") {
  const Tensor a = boxes({0, 0, 4, 4, 1, 1, 1, 5});
  const Tensor b = boxes({2, 2, 6, 6, 4, 0, 8, 4, 1, 1, 3, 3, 0, 0, 4, 4});
  const Tensor iou = ops::box_iou(a, b);
  REQUIRE(iou.shape() == Shape{2, 4});
  CHECK(values_of(iou) == std::vector<float>{4.0f / 28, 0, 4.0f / 16, 1, 0, 0, 0, 0});
  // Over the area of the first box.
  CHECK(values_of(ops::box_iof(b, boxes({0, 0, 4, 4}))) == std::vector<float>{0.25f, 0, 1, 1});
  CHECK(values_of(ops::box_areas(a)) == std::vector<float>{16, 0});
  CHECK_THROWS_WITH(ops::box_iou(boxes({0, 0, 4, 4}).alias({4}), b),
                    "box_iou: a are float32 (4); expected float32 (n, 4)");
}

TEST_CASE("clip_boxes: corners are moved into the image", "[ops]") {
  CHECK(values_of(ops::clip_boxes(boxes({-3, 2, 90, 50, 70, -9, 80, -1}), 40, 60)) ==
        std::vector<float>{0, 2, 60, 40, 60, 0, 60, 0});
}

TEST_CASE("box coder: decoding is the inverse of encoding", "[ops]") {
  const Tensor from = boxes({2, 3, 12, 23, 0, 0, 100, 50, 5, 5, 6, 6});
  const Tensor truth = boxes({4, 1, 20, 25, 30, 10, 60, 45, 4.5f, 5.5f, 7.5f, 5.9f});
  for (const ops::BoxCoder& coder :
       {ops::BoxCoder{}, ops::BoxCoder{.stds = {0.1, 0.1, 0.2, 0.3}}}) {
    const Tensor back = ops::decode_boxes(from, ops::encode_boxes(from, truth, coder), coder);
    CHECK(max_difference(back, truth) < 1e-4);
  }
  // Centre (7, 13), size (10, 20) to centre (12, 13), size (16, 24).
  const Tensor deltas = ops::encode_boxes(boxes({2, 3, 12, 23}), boxes({4, 1, 20, 25}));
  CHECK(deltas.values<float>()[0] == Approx(0.5));
  CHECK(deltas.values<float>()[1] == Approx(0).margin(1e-6));
  CHECK(deltas.values<float>()[2] == Approx(std::log(1.6)));
  CHECK(deltas.values<float>()[3] == Approx(std::log(1.2)));
}

TEST_CASE("box coder: sizes change within bounds, boxes of no area stay finite", "[ops]") {
  const Tensor grown = ops::decode_boxes(boxes({0, 0, 16, 16}), boxes({0, 0, 50, -50}));
  CHECK(values_of(grown)[2] == Approx(508));        // 8 + 500: 1000 times as wide over 16
  CHECK(values_of(grown)[3] == Approx(8 + 0.128));  // 16 / 1000 as high
  for (const float delta : values_of(ops::encode_boxes(boxes({3, 3, 3, 3}), boxes({0, 0, 9, 0}))))
    CHECK(std::isfinite(delta));
}

TEST_CASE("decode_boxes: gradients of the deltas, none beyond the bounds", "[ops]") {
  const Tensor from = uniform_tensor({5, 4}, 0, 1, 1);
  check_gradients(
      [&](const auto& t) {
        return ops::decode_boxes(from, t[0], {.stds = {0.1, 0.2, 0.3, 0.4}});
      },
      {random_tensor({5, 4}, 2)});
  const Tensor deltas = trainable(Tensor::from<double>({0, 0, 9, -9}, {1, 4}, cpu()));
  const Tensor unit = Tensor::from<double>({0, 0, 1, 1}, {1, 4}, cpu());
  autograd::backward(ops::decode_boxes(unit, deltas),
                     Tensor::from<double>({1, 1, 2, 2}, {1, 4}, cpu()));
  CHECK(to_doubles(deltas.grad()) == std::vector<double>{3, 3, 0, 0});
}

TEST_CASE("grid_anchors: row, column, ratio, scale", "[ops]") {
  const Tensor anchors =
      ops::grid_anchors(2, 3, 4, {.scales = {1, 2}, .ratios = {0.25, 1}, .center_offset = 0.5});
  REQUIRE(anchors.shape() == Shape{24, 4});
  const std::vector<float> all = values_of(anchors);
  const auto anchor = [&](std::size_t i) {
    return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(4 * i),
                              all.begin() + static_cast<std::ptrdiff_t>(4 * i + 4));
  };
  CHECK(anchor(0) == std::vector<float>{-2, 1, 6, 3});   // 8 wide, 2 high
  CHECK(anchor(1) == std::vector<float>{-6, 0, 10, 4});  // twice that
  CHECK(anchor(2) == std::vector<float>{0, 0, 4, 4});
  CHECK(anchor(6) == std::vector<float>{4, 0, 8, 4});   // a column on
  CHECK(anchor(14) == std::vector<float>{0, 4, 4, 8});  // a row on
  CHECK_THROWS_AS(ops::grid_anchors(2, 3, 4, {.scales = {1}, .ratios = {}}), ShapeError);
}
