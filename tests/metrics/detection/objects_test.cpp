#include "metrics/detection/objects.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::metrics;

TEST_CASE("detection objects: are made of a sample's and a detector's tensors", "[metrics]") {
  const Tensor boxes =
      Tensor::from<float>({1, 2, 4, 8, /**/ 0.5f, 0, 0.75f, 3}, {2, 4}, test::cpu());
  const Tensor labels = Tensor::from<std::int64_t>({3, 0}, {2}, test::cpu());
  const Tensor crowd = Tensor::from<std::uint8_t>({0, 1}, {2}, test::cpu());
  const Tensor numbers = Tensor::from<float>({0.25f, 7}, {2}, test::cpu());
  const MaskRuns mask = encode_mask(std::vector<std::uint8_t>{1, 0}, 1, 2);
  const auto truth = truth_objects(boxes, labels, crowd, numbers, {mask, mask});
  REQUIRE(truth.size() == 2);
  CHECK(truth[0].box == ObjectBox{1, 2, 3, 6});
  CHECK(truth[1].box == ObjectBox{0.5, 0, 0.25, 3});
  CHECK(truth[0].label == 3);
  CHECK_FALSE(truth[0].crowd);
  CHECK(truth[1].crowd);
  CHECK(truth[1].area == 7);
  CHECK(truth[1].mask == mask);
  const auto found = detected_objects(boxes, numbers, labels);
  REQUIRE(found.size() == 2);
  CHECK(found[1].box == truth[1].box);
  CHECK(found[0].score == 0.25);
  CHECK(found[0].label == 3);
  CHECK_FALSE(found[0].mask);
  const auto empty = [](const Shape& shape, DType dtype) {
    return Tensor::empty(shape, dtype, test::cpu());
  };
  const Tensor none = empty({0, 4}, DType::kFloat32);
  CHECK(detected_objects(none, empty({0}, DType::kFloat32), empty({0}, DType::kInt64)).empty());
  CHECK_THROWS_AS(detected_objects(none, numbers, labels), ShapeError);
  CHECK_THROWS_AS(detected_objects(numbers, numbers, labels), ShapeError);
  CHECK_THROWS_AS(truth_objects(boxes, labels, crowd, numbers, {mask}), ShapeError);
}
