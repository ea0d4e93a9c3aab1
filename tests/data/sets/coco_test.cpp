// COCO's format: categories with gaps, polygons, runs and crowds, and damaged files.
#include <catch2/catch.hpp>

#include "data/files/coco_json.h"
#include "tests/data/boxes/box_sets.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

constexpr const char* kImages =
    R"("images": [{"id": 70, "file_name": "b.png", "height": 20, "width": 30},
                  {"id": 9, "file_name": "a.png", "height": 24, "width": 20, "license": null}])";
constexpr const char* kCategories =
    R"("categories": [{"id": 90, "name": "tooth", "supercategory": "body"},
                      {"id": 3, "name": "car"}])";
constexpr const char* kObjects = R"("annotations": [
    {"id": 1, "image_id": 70, "category_id": 90, "bbox": [2, 3, 10.5, 6], "area": 60.25,
     "iscrowd": 0, "segmentation": [[2, 3, 12, 3, 12, 9, 2, 9], [20, 10, 24, 10, 24, 14]]},
    {"id": 2, "image_id": 9, "category_id": 3, "bbox": [0, 0, 2, 24], "area": 48, "iscrowd": 1,
     "segmentation": {"counts": [0, 48, 432], "size": [24, 20]}},
    {"id": 3, "image_id": 9, "category_id": 3, "bbox": [5, 5, 0, 4], "area": 0, "iscrowd": 0,
     "segmentation": [[5, 5, 5, 9, 5, 7]]},
    {"id": 4, "image_id": 9, "category_id": 90, "bbox": [1, 0, 1, 24], "area": 24,
     "segmentation": {"counts": "COUNTS", "size": [24, 20]}}])";

std::string whole(std::string objects = kObjects) {
  constexpr std::string_view kPlace = "COUNTS";  // of a string of runs
  if (const std::size_t at = objects.find(kPlace); at != std::string::npos) {
    const std::vector<std::int64_t> runs = {24, 24, 432};
    objects.replace(at, kPlace.size(), mask_string(mask_from_runs(runs, 24, 20)));
  }
  return std::string("{\"info\": {\"images\": [1, [2]]}, ") + objects + ", " + kImages + ", " +
         kCategories + "}";
}

// COCO's layout, with two images of train and one of val.
void write_coco(const Folder& folder, const std::string& train = whole()) {
  folder.write("annotations/instances_train2017.json", train);
  folder.write("annotations/instances_val2017.json",
               std::string(R"({"annotations": [{"image_id": 5, "category_id": 3,
                   "bbox": [1, 2, 3, 4]}], "images": [{"id": 5, "file_name": "c.png", "height": 8,
                   "width": 9}], )") +
                   kCategories + "}");
  folder.write("train2017/b.png", encode_png(pattern(20, 30, 3)));
  folder.write("train2017/a.png", encode_png(pattern(24, 20, 1)));
  folder.write("val2017/c.png", encode_png(pattern(8, 9, 3)));
}

std::shared_ptr<const BoxDataset> coco(const Folder& folder, Split split,
                                       const std::string& more = R"("masks": true)") {
  return make_boxes(component("coco", folder.path, more), split);
}

using Sides = std::array<double, 4>;

}  // namespace

TEST_CASE("coco: boxes, areas, crowds, and categories in the order of their ids", "[data]") {
  const Folder folder;
  write_coco(folder);
  const auto train = coco(folder, Split::kTrain, R"("min_image_side": 0)");
  CHECK(train->class_names() == std::vector<std::string>{"car", "tooth"});
  CHECK(train->info().category_ids == std::vector<std::int64_t>{3, 90});
  REQUIRE(train->size() == 2);
  CHECK(train->image_id(0) == 70);
  CHECK(train->image_id(1) == 9);
  const BoxedObject& first = train->objects(0).at(0);
  CHECK(first.box == Sides{2, 3, 12.5, 9});
  CHECK(first.label == 1);
  CHECK(first.area == 60.25);
  REQUIRE(train->objects(1).size() == 2);  // one has no area
  CHECK(train->objects(1)[0].crowd);
  CHECK_FALSE(train->objects(1)[1].crowd);
  CHECK_THAT(train->notes().at(0),
             Catch::Contains("1 of 4 boxes") && Catch::Contains("a.png: box 3 (car) has no area"));
  CHECK_FALSE(prepared(*train, 0).has("masks"));
  CHECK(train->truth(0).masks.empty());
  // A grey picture becomes one of three channels.
  CHECK(prepared(*train, 1).at("image").size(0) == 3);
  const auto val = coco(folder, Split::kVal, "");
  CHECK(val->objects(0)[0].box == Sides{1, 2, 4, 6});
  CHECK(val->objects(0)[0].area == 12);
  CHECK_FALSE(has_part(component("coco", folder.path), Split::kTest));
}

TEST_CASE("coco: polygons, lists of runs and strings become masks", "[data]") {
  const Folder folder;
  write_coco(folder);
  const auto train = coco(folder, Split::kTrain,
                          R"("masks": true, "min_image_side": 0, "min_size": 20, "max_size": 30)");
  const BoxTruth b = train->truth(0), a = train->truth(1);
  REQUIRE(b.masks.size() == 1);
  CHECK(b.masks[0] ==
        mask_from_polygons(
            std::vector<std::vector<double>>{{2, 3, 12, 3, 12, 9, 2, 9}, {20, 10, 24, 10, 24, 14}},
            20, 30));
  CHECK(mask_area(b.masks[0]) > 60);
  REQUIRE(a.masks.size() == 2);
  CHECK(mask_box(a.masks[0]) == MaskBox{0, 0, 2, 24});
  CHECK(mask_box(a.masks[1]) == MaskBox{1, 0, 1, 24});
  const Sample sample = prepared(*train, 0);
  REQUIRE(sample.at("masks").shape() == Shape{1, 20, 30});
  const auto mask = sample.at("masks").values<std::uint8_t>();
  CHECK(std::vector<std::uint8_t>(mask.begin(), mask.end()) == decode_mask(b.masks[0]));
}

TEST_CASE("coco: lists choose from one file, classes from its categories", "[data]") {
  const Folder folder;
  write_coco(folder);
  folder.write("splits/train.txt", "b.png\n");
  folder.write("splits/val.txt", "a\n");
  const std::string any = R"("min_image_side": 0)";
  CHECK(coco(folder, Split::kTrain, any)->image_id(0) == 70);
  CHECK(coco(folder, Split::kTrain, any)->size() == 1);
  CHECK(coco(folder, Split::kVal, any)->image_id(0) == 9);
  CHECK(coco(folder, Split::kVal, any)->size() == 1);
  const auto teeth = coco(folder, Split::kVal, R"("classes": ["tooth"])");
  CHECK(teeth->info().category_ids == std::vector<std::int64_t>{90});
  CHECK(teeth->objects(0).size() == 1);
  CHECK(teeth->objects(0)[0].label == 0);
  CHECK_THAT(teeth->notes().back(), Catch::Contains("2 of 4 objects are of categories"));
  CHECK_THROWS_WITH(coco(folder, Split::kVal, R"("classes": ["tooth", "crown", "tooth"])"),
                    Catch::Contains("classes names tooth twice"));
  CHECK_THROWS_WITH(coco(folder, Split::kVal, R"("classes": ["tooht"])"),
                    Catch::Contains("has no category \"tooht\"; did you mean \"tooth\"?"));
  folder.write("splits/val.txt", "x\n");
  CHECK_THROWS_WITH(coco(folder, Split::kVal, any), Catch::Contains("val.txt:1: x: no image"));
}

TEST_CASE("coco: masks that are broken are refused by the name of their object", "[data]") {
  const auto refused = [](const std::string& segmentation, const std::string& message) {
    INFO(segmentation);
    const Folder folder;
    write_coco(folder, whole(R"("annotations": [{"id": 6, "image_id": 9, "category_id": 3,
        "bbox": [1, 1, 5, 5], "segmentation": )" +
                             segmentation + "}]"));
    const auto train =
        coco(folder, Split::kTrain, R"("masks": true, "min_image_side": 0, "filter_empty": false)");
    CHECK_THROWS_WITH(prepared(*train, 1),
                      Catch::Contains("instances_train2017.json: annotation 1 (id 6)") &&
                          Catch::Contains(message));
    CHECK_THROWS_AS(train->truth(1), FileError);
    // Without masks they do not matter.
    CHECK_NOTHROW(prepared(*coco(folder, Split::kTrain, R"("min_image_side": 0)"), 0));
  };
  refused(R"({"counts": [10, 10], "size": [24, 20]})", "20");
  refused(R"({"counts": [10, -5, 475], "size": [24, 20]})", "-5");
  refused(R"({"counts": [480], "size": [20, 24]})", "its mask is 20 x 24, its image 24 x 20");
  refused(R"({"counts": "h0~", "size": [24, 20]})", "");
  refused("[[1, 2, 3, 4]]", "");
  refused("[[1, 2, 3, 4, 5, 6, 7]]", "");
  refused("[]", "has no segmentation; set dataset.masks=false");
  refused("null", "has no segmentation");
}

TEST_CASE("coco: damaged files end in one line", "[data]") {
  const auto refused = [](const std::string& json, const std::string& message) {
    INFO(json);
    CHECK_THROWS_AS(parse_coco(json, "x.json", true), FileError);
    CHECK_THROWS_WITH(parse_coco(json, "x.json", true), Catch::Contains(message));
    try {
      parse_coco(json, "x.json", true);
    } catch (const FileError& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  };
  const auto with = [](const std::string& record) {
    return whole(R"("annotations": [)" + record + "]");
  };
  refused("", "x.json: is no whole JSON");
  refused(whole().substr(0, 300), "x.json: is no whole JSON: parse error at line");
  refused("[1]", "begins with a list");
  refused("7", "has no \"images\"");
  refused("{\"images\": []}", "has no \"categories\"");
  refused("{\"images\": 5}", "x.json: \"images\" is a number; expected a list");
  refused("{\"images\": {\"a\": 1}}", "\"images\" is an object; expected a list");
  refused("{\"annotations\": [1]}", "record 1 of \"annotations\": is a number; expected an object");
  refused("{\"images\": [[]]}", "record 1 of \"images\": is a list; expected an object");
  refused("{\"images\": [{\"id\": 1, \"height\": 0}]}",
          "record 1 of \"images\": \"height\" is 0; expected a whole number from 1");
  refused("{\"images\": [{\"id\": \"x\"}]}", "\"id\" is a text");
  refused("{\"images\": [{\"id\": 1.5}]}", "\"id\" is 1.5; expected a whole number");
  refused("{\"images\": [{\"id\": 1, \"height\": 2, \"width\": 2}]}", "has no \"file_name\"");
  refused(with("{}"), "record 1 of \"annotations\": has no \"image_id\"");
  refused(with(R"({"image_id": 9, "category_id": 3})"), "has no \"bbox\"");
  refused(with(R"({"image_id": 9, "category_id": 3, "bbox": [1, 2, 3]})"),
          "\"bbox\" has 3 numbers; expected x, y, width, height");
  refused(with(R"({"image_id": 9, "category_id": 3, "bbox": [1, 2, "3", 4]})"), "holds a text");
  refused(with(R"({"image_id": 8, "category_id": 3, "bbox": [1, 2, 3, 4]})"),
          "annotation 1 (id 0): image_id is 8, which is not there");
  refused(with(R"({"id": 4, "image_id": 9, "category_id": 4, "bbox": [1, 2, 3, 4]})"),
          "annotation 1 (id 4): category_id is 4, which is not there");
  refused(with(R"({"bbox": [1, 2, 3, 4], "segmentation": [1, 2]})"),
          "\"segmentation\" holds a number; expected lists of corners");
  refused(with(R"({"bbox": [1, 2, 3, 4], "segmentation": {"counts": [1]}})"),
          "has a size of 0 numbers");
  refused(with(R"({"bbox": {}, "segmentation": {}})"), "\"bbox\" is an object");
  refused(whole("\"images\": [{\"id\": 9, \"file_name\": \"c\", \"height\": 1, \"width\": 1}]"),
          "id 9 is twice in \"images\"");
  std::string deep(100000, '[');
  refused("{\"other\": " + deep, "is no whole JSON");
}

TEST_CASE("coco: parts with other categories are refused", "[data]") {
  const Folder folder;
  write_coco(folder);
  folder.write("annotations/instances_val2017.json",
               R"({"images": [{"id": 5, "file_name": "c.png", "height": 8, "width": 9},
                              {"id": 0, "file_name": "d.png", "height": 8, "width": 9}],
                   "categories": [{"id": 1, "name": "car"}]})");
  CHECK(coco(folder, Split::kVal, "")->image_id(1) == 0);
  CHECK_THROWS_WITH(make_splits(component("coco", folder.path, R"("min_image_side": 0)")),
                    Catch::Contains("the classes of val are not those of the other parts"));
}
