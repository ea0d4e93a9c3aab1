#include "metrics/detection/coco_results.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "schema/json/parse.h"

using namespace fovea;
using namespace fovea::metrics;

TEST_CASE("COCO results: boxes and masks are two lists", "[metrics]") {
  const MaskRuns mask = encode_mask(std::vector<std::uint8_t>{0, 1, 1, 0, 0, 1}, 2, 3);
  const std::vector<DetectedObject> detections = {{{0.1, 2, 3.5, 4}, 1, 0.75, mask},
                                                  {{1, 1, 1, 1}, 0, 1.0 / 3, mask}};
  CocoResults boxes(Overlap::kBoxes, {4, 17}), masks(Overlap::kMasks, {4, 17});
  boxes.add(9, detections);
  boxes.add(10, {});
  masks.add(9, std::span(detections).first(1));
  CHECK(
      boxes.text() ==
      "[{\"image_id\":9,\"category_id\":17,\"bbox\":[0.1,2.0,3.5,4.0],\"score\":0.75},\n"
      "{\"image_id\":9,\"category_id\":4,\"bbox\":[1.0,1.0,1.0,1.0],\"score\":0.3333333333333333}]"
      "\n");
  // Without a box, so that pycocotools takes the area of the mask.
  const schema::Value list = schema::parse(masks.text(), "results");
  REQUIRE(list.size() == 1);
  CHECK(list.at(0).find("bbox") == nullptr);
  const schema::Value& segmentation = list.at(0).at("segmentation");
  CHECK(segmentation.at("size") == schema::Value::array({2, 3}));
  CHECK(mask_from_string(segmentation.at("counts").as_string(), 2, 3) == mask);
  CHECK(CocoResults(Overlap::kBoxes, {}).text() == "[]\n");
  CHECK_THROWS_AS(CocoResults(Overlap::kBoxes, {4}).add(9, detections), ShapeError);
}
