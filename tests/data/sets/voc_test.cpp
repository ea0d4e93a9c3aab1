// Pascal VOC: the layout, what boxes become, and damaged annotations.
#include <catch2/catch.hpp>

#include "data/files/voc_xml.h"
#include "tests/data/boxes/box_sets.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

std::string voc_object(const std::string& name, const std::string& box, bool difficult = false) {
  const char* const tags[] = {"xmin", "ymin", "xmax", "ymax"};
  std::string text = "<object><name>" + name + "</name><difficult>" + (difficult ? "1" : "0") +
                     "</difficult><bndbox>";
  std::size_t at = 0;
  for (const char* tag : tags) {
    const std::size_t end = box.find(' ', at);
    text += std::string("<") + tag + ">" + box.substr(at, end - at) + "</" + tag + ">";
    at = end == std::string::npos ? box.size() : end + 1;
  }
  return text + "</bndbox></object>\n";
}

std::string annotation(const std::string& objects, const std::string& size =
                                                       "<width>40</width>"
                                                       "<height>30</height>") {
  return "<annotation>\n<size>" + size + "<depth>3</depth></size>\n" + objects + "</annotation>\n";
}

// Four images of train, one of val and one of test, of 30 x 40.
void write_voc(const Folder& folder) {
  for (const char* name : {"a", "b", "c", "d", "v", "t"})
    folder.write(std::string("JPEGImages/") + name + ".png", encode_png(pattern(30, 40, 3)));
  folder.write("Annotations/a.xml",
               annotation(voc_object("dog", "1 1 40 30") + voc_object("cat", "5 6 15.5 20", true)));
  folder.write("Annotations/b.xml",
               annotation(voc_object("cat", "8 8 8 20") + voc_object("cat", "30 20 60 50")));
  folder.write("Annotations/c.xml", annotation(""));
  folder.write("Annotations/d.xml", annotation(voc_object("ant", "2 3 4 5"), ""));
  folder.write("Annotations/v.xml", annotation(voc_object("dog", "2 3 14 25")));
  folder.write("Annotations/t.xml", annotation(voc_object("ant", "2 3 14 25")));
  folder.write("ImageSets/Main/train.txt", "d\nc\na\nb\n");
  folder.write("ImageSets/Main/val.txt", "v\n");
  folder.write("ImageSets/Main/test.txt", "t\n");
}

std::shared_ptr<const BoxDataset> voc(const Folder& folder, Split split,
                                      const std::string& more = "") {
  const std::string any_side = R"("min_image_side": 0)";
  return make_boxes(component("voc", folder.path, any_side + (more.empty() ? "" : ", ") + more),
                    split);
}

using Sides = std::array<double, 4>;

}  // namespace

TEST_CASE("voc: boxes lose one on all sides, classes are those of train", "[data]") {
  const Folder folder;
  write_voc(folder);
  const auto train = voc(folder, Split::kTrain, R"("filter_empty": false)");
  CHECK(train->class_names() == std::vector<std::string>{"ant", "cat", "dog"});
  REQUIRE(train->size() == 4);
  const auto& a = train->objects(0);
  REQUIRE(a.size() == 2);
  CHECK(a[0].box == Sides{0, 0, 39, 29});
  CHECK(a[0].label == 2);
  CHECK(a[0].area == 39 * 29);
  CHECK_FALSE(a[0].crowd);
  CHECK(a[1].box == Sides{4, 5, 14.5, 19});
  CHECK(a[1].crowd);
  // Of b one box has no area; the other one reaches outside, which truth keeps and samples do not.
  REQUIRE(train->objects(1).size() == 1);
  CHECK(train->objects(1)[0].box == Sides{29, 19, 59, 49});
  CHECK(train->skipped_boxes(1) == 1);
  REQUIRE(train->notes().size() == 1);
  CHECK_THAT(train->notes()[0],
             Catch::Contains(
                 "voc: 1 of 5 boxes left out, without area or outside the image; the first: ") &&
                 Catch::Contains("b.png: box 1 (cat) has no area"));
  const auto plain =
      voc(folder, Split::kTrain, R"("min_size": 30, "max_size": 40, "filter_empty": false)");
  CHECK(floats(prepared(*plain, 1).at("boxes")) == std::vector<float>{29, 19, 40, 30});
  // d does not say its size, c has nothing.
  CHECK(train->original_size(3) == std::array<std::int64_t, 2>{30, 40});
  CHECK(train->objects(2).empty());
  CHECK(voc(folder, Split::kTrain)->size() == 3);
  CHECK(voc(folder, Split::kVal)->objects(0)[0].label == 2);
  CHECK(voc(folder, Split::kTest)->objects(0)[0].label == 0);
}

TEST_CASE("voc: options choose classes, lists and difficult objects", "[data]") {
  const Folder folder;
  write_voc(folder);
  CHECK_THROWS_WITH(voc(folder, Split::kTrain, R"("classes": ["dog", "dog"])"),
                    Catch::Contains("classes names dog twice"));
  const auto dogs = voc(folder, Split::kTrain, R"("classes": ["dog"], "filter_empty": false)");
  CHECK(dogs->class_names() == std::vector<std::string>{"dog"});
  CHECK(dogs->objects(0).size() == 1);
  CHECK(dogs->objects(3).empty());
  CHECK_THAT(dogs->notes().back(), Catch::Contains("4 objects of train are of classes"));
  CHECK_FALSE(voc(folder, Split::kTrain, R"("difficult": "object")")->objects(0)[1].crowd);
  CHECK(voc(folder, Split::kTrain, R"("difficult": "skip")")->objects(0).size() == 1);
  folder.write("ImageSets/Main/trainval.txt", "a\nb\nc\nd\nv\n");
  const auto all = voc(folder, Split::kTrain, R"("train_list": "trainval", "val_list": "")");
  CHECK(all->size() == 4);
  CHECK_THROWS_WITH(voc(folder, Split::kTrain, R"("train_list": "trainval")"),
                    Catch::Contains("trainval.txt:5: v is also in val.txt"));
  CHECK_THROWS_WITH(voc(folder, Split::kTrain, R"("masks": true)"),
                    Catch::Contains("the files of this data set have boxes alone"));
}

TEST_CASE("voc: what is missing is named, or left out and counted", "[data]") {
  const Folder folder;
  write_voc(folder);
  const auto refused = [&](const std::string& part, const std::string& more = "",
                           Split split = Split::kTrain) {
    INFO(part);
    CHECK_THROWS_WITH(voc(folder, split, more), Catch::Contains(part));
    CHECK_THROWS_AS(voc(folder, split, more), FileError);
  };
  refused("ImageSets/Main/other.txt: not found; see datasets/voc.md", R"("train_list": "other")");
  folder.write("Annotations/v.xml", annotation(voc_object("dgo", "2 3 14 25")));
  refused(
      "object 1 is of class \"dgo\", which train does not have (all can be named in "
      "dataset.classes); did you mean \"dog\"?",
      "", Split::kVal);
  std::filesystem::remove(folder.path / "JPEGImages/b.png");
  refused("JPEGImages: no picture of this name; expected b.jpg");
  folder.write("Annotations/d.xml", "<annotation><object>");
  refused("JPEGImages: no picture");
  const auto some = voc(folder, Split::kTrain, R"("on_bad_sample": "skip", "filter_empty": false)");
  CHECK(some->size() == 2);
  REQUIRE(some->left_out().size() == 2);
  CHECK_THAT(some->left_out()[1], Catch::Contains("d.xml:1: is no whole XML"));
  folder.write("JPEGImages/a.png", encode_png(pattern(40, 30, 3)));
  CHECK_THROWS_WITH(prepared(*voc(folder, Split::kTrain, R"("on_bad_sample": "skip")"), 0),
                    Catch::Contains("a.png: is 40 x 30, its annotation says 30 x 40"));
}

TEST_CASE("voc: damaged annotations end in one line with their place", "[data]") {
  const auto refused = [](const std::string& xml, const std::string& message) {
    INFO(xml);
    CHECK_THROWS_AS(parse_voc(xml, "x.xml"), FileError);
    CHECK_THROWS_WITH(parse_voc(xml, "x.xml"), Catch::Contains(message));
  };
  const std::string whole = annotation(voc_object("a", "1 2 3 4"));
  CHECK(parse_voc(whole, "x.xml").objects.size() == 1);
  refused("", "x.xml:1: is no whole XML");
  refused(whole.substr(0, whole.size() / 2), "is no whole XML");
  refused(whole + "<more/>", "is no whole XML: junk after document element");
  refused("<html/>", "x.xml:1: begins with <html>; expected <annotation>");
  refused(annotation(voc_object("a", "1 2 three 4")), "x.xml:3: <xmax> is \"three\"");
  refused(annotation(voc_object("a", "1 2 nan 4")), "expected a number");
  refused(annotation("<object><name>a</name><bndbox><xmin>1\n2</xmin></bndbox></object>"),
          R"(<xmin> is "1\n2"; expected a number)");
  refused(annotation("<object><name>a</name></object>"), "object 1 has no <xmin> in a <bndbox>");
  refused(annotation("<object><bndbox/></object>"), "object 1 has no <name>");
  refused(annotation("", "<width>-4</width>"), "<width> is -4; expected a number of pixels");
  refused("<!DOCTYPE a [<!ENTITY b \"c\">]><annotation>&b;</annotation>", "declares an entity");
  std::string deep;
  for (int k = 0; k < 100; ++k) deep += "<annotation>";
  refused(deep, "more than 64 deep");
  // Parts of an object have boxes and names of their own.
  const VocAnnotation part = parse_voc(
      annotation("<object><name>man</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax>"
                 "<ymax>4</ymax></bndbox><part><name>head</name><bndbox><xmin>9</xmin></bndbox>"
                 "</part></object>"),
      "x.xml");
  CHECK(part.objects[0].name == "man");
  CHECK(part.objects[0].bndbox == Sides{1, 2, 3, 4});
}
