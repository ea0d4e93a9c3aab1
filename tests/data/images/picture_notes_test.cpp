// What is said of pictures that are held another way, of 12 bits, and of pairs that do not match.
#include "data/images/picture_notes.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

std::vector<std::string> notes_of(const std::string& type, const Folder& folder,
                                  const std::string& more = "", Split split = Split::kTrain) {
  return make_dataset(component(type, folder.path, more), split)->notes();
}

std::string joined(const std::vector<std::string>& notes) {
  std::string all;
  for (const std::string& note : notes) all += note + "\n";
  return all;
}

// A mask with both values.
std::string a_mask(std::int64_t height, std::int64_t width) {
  Image mask{height, width, 1, {}};
  for (std::int64_t i = 0; i < height * width; ++i)
    mask.pixels.push_back(i % 3 == 0 ? std::uint8_t{255} : std::uint8_t{0});
  return encode_png(mask);
}

void write_pairs(const Folder& folder, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    folder.write("images/" + name + ".png", encode_png(pattern(8, 16, 3)));
    folder.write("masks/" + name + ".png", a_mask(8, 16));
    list += name + "\n";
  }
  folder.write("splits/train.txt", list);
}

}  // namespace

TEST_CASE("exif: a note as soon as a picture is held another way", "[data]") {
  const Folder folder;
  folder.write("train/cat/0.jpg", tiny_jpeg());
  folder.write("train/cat/1.jpg", with_orientation(1, true));
  CHECK(notes_of("image_folder", folder, R"("img_size": 8)").empty());
  folder.write("train/cat/2.jpg", with_orientation(6, false));
  const std::string said = joined(notes_of("image_folder", folder, R"("img_size": 8)"));
  CHECK_THAT(said, Catch::Contains("image_folder: 1 of 3 pictures have an EXIF orientation other "
                                   "than 1, e.g. ") &&
                       Catch::Contains("2.jpg (6)") && Catch::Contains("dataset.exif=true"));
  CHECK(notes_of("image_folder", folder, R"("img_size": 8, "exif": true)").empty());
}

TEST_CASE("exif: is named where it makes sizes differ", "[data]") {
  const Folder folder;
  write_pairs(folder, {"a", "b"});
  folder.write("images/photo.jpg", with_orientation(6, true));
  folder.write("masks/photo.png", a_mask(16, 8));  // as the picture is seen
  folder.write("splits/train.txt", "a\nb\nphoto\n");
  const auto read_all = [&](const std::string& more) {
    const auto d = make_dataset(component("paired_folder", folder.path, more), Split::kTrain);
    for (std::int64_t i = 0; i < d->size(); ++i) d->get(i);
  };
  CHECK_THAT(joined(notes_of("paired_folder", folder, R"("img_size": 8)")),
             Catch::Contains("paired_folder: 1 of 3 pictures have an EXIF orientation"));
  CHECK_THROWS_WITH(read_all(R"("img_size": 8)"),
                    Catch::Contains("photo.png: is 16 x 8, its image photo.jpg is 8 x 16; its EXIF "
                                    "orientation is 6: dataset.exif=true turns it to 16 x 8"));
  CHECK_NOTHROW(read_all(R"("img_size": 8, "exif": true)"));
  // And the other way, where masks are as the files are stored.
  folder.write("masks/photo.png", a_mask(8, 16));
  CHECK_THROWS_WITH(read_all(R"("img_size": 8, "exif": true)"),
                    Catch::Contains("dataset.exif has turned it: false leaves it at 8 x 16"));
  // A picture that is of another size for another reason.
  folder.write("masks/a.png", a_mask(8, 9));
  CHECK_THROWS_WITH(read_all(R"("img_size": 8)"), !Catch::Contains("EXIF"));
  // One size for all.
  const Folder classes;
  classes.write("train/cat/0.png", encode_png(pattern(16, 8, 3)));
  classes.write("train/cat/1.jpg", with_orientation(8, true));
  const auto d = make_dataset(component("image_folder", classes.path), Split::kTrain);
  CHECK_THROWS_WITH(d->get(1), Catch::Contains("its EXIF orientation is 8"));
}

TEST_CASE("intensity: pictures of 12 bits in 16 are noted", "[data]") {
  const Folder folder;
  write_pairs(folder, {"a", "b"});
  std::vector<std::uint16_t> values;
  for (int i = 0; i < 8 * 16; ++i) values.push_back(static_cast<std::uint16_t>(i * 32));
  folder.write("images/a.png", png16(8, 16, values));
  CHECK_THAT(joined(notes_of("paired_folder", folder, R"("in_chans": 1)")),
             Catch::Contains("paired_folder: 1 of 2 pictures have 16 bits, and 1 of them that were "
                             "decoded hold no value above 4064") &&
                 Catch::Contains("dataset.intensity=min_max_255"));
  CHECK(notes_of("paired_folder", folder, R"("in_chans": 1, "intensity": "min_max_255")").empty());
  values.back() = 40000;
  folder.write("images/a.png", png16(8, 16, values));
  CHECK(notes_of("paired_folder", folder, R"("in_chans": 1)").empty());
}

TEST_CASE("paired_folder: images and masks that do not match are said", "[data]") {
  const Folder folder;
  write_pairs(folder, {"a", "b"});
  CHECK(notes_of("paired_folder", folder).empty());
  folder.write("masks/c.png", a_mask(8, 16));
  CHECK_THAT(joined(notes_of("paired_folder", folder)),
             Catch::Contains("1 of 3 masks have no image, e.g. c.png"));
  // Both would be samples with the mask a.png, perhaps in two parts.
  folder.write("images/a.jpg", tiny_jpeg());
  CHECK_THROWS_WITH(notes_of("paired_folder", folder),
                    Catch::Contains("a.jpg and a.png: two images of one name, both with the mask"));
  CHECK_THROWS_AS(notes_of("paired_folder", folder), FileError);
}

TEST_CASE("parts: valid and validation are val", "[data]") {
  const std::string name = GENERATE("val", "valid", "validation");
  INFO(name);
  const Folder folder;
  folder.write("train/cat/0.png", encode_png(pattern(4, 4, 3)));
  folder.write(name + "/cat/0.png", encode_png(pattern(4, 4, 3)));
  folder.write("train/cat/text.txt", "a cat");
  const Splits splits = make_splits(component("image_folder", folder.path));
  REQUIRE(splits.val != nullptr);
  CHECK(splits.val->size() == 1);
  CHECK(splits.test == nullptr);
  // Lists of names, which count by their content.
  const Folder pairs;
  write_pairs(pairs, {"a", "b"});
  pairs.write("splits/train.txt", "a\n");
  pairs.write("splits/" + name + ".txt",
              "\xEF\xBB\xBF"
              "b\n");
  const Splits of_pairs = make_splits(component("paired_folder", pairs.path));
  REQUIRE(of_pairs.val != nullptr);
  CHECK(of_pairs.val->size() == 1);
  // Tables.
  const Folder texts;
  texts.write("train.csv", "text,label\none,a\ntwo,b\n");
  texts.write(name + ".csv", "text,label\nthree,a\n");
  const Splits of_texts = make_splits(component("text_csv", texts.path));
  REQUIRE(of_texts.val != nullptr);
  CHECK(of_texts.val->size() == 1);
  if (name == "val") return;
  folder.write("val/cat/0.png", encode_png(pattern(4, 4, 3)));
  CHECK_THROWS_WITH(make_splits(component("image_folder", folder.path)),
                    Catch::Contains("are both there, and both are val"));
}

TEST_CASE("lists: a byte order mark belongs to no name", "[data]") {
  const Folder folder;
  write_pairs(folder, {"a", "b"});
  const auto size = [&](const std::string& list) {
    folder.write("splits/train.txt", list);
    return make_dataset(component("paired_folder", folder.path), Split::kTrain)->size();
  };
  CHECK(size("\xEF\xBB\xBF"
             "a\nb\n") == 2);
  CHECK(size(std::string("\xFF\xFE"
                         "a\0\r\0\n\0b\0",
                         10)) == 2);
  CHECK_THROWS_AS(size("\xEF\xBB"
                       "a\n"),
                  FileError);
  const Folder classes;
  classes.write("train/n01/0.png", encode_png(pattern(4, 4, 3)));
  classes.write("names.txt",
                "\xEF\xBB\xBF"
                "n01 tench\n");
  const auto named = make_dataset(
      component("image_folder", classes.path, R"("class_names": "names.txt")"), Split::kTrain);
  CHECK(named->class_names() == std::vector<std::string>{"tench"});
}

TEST_CASE("text_csv: an empty label is a fault with its line", "[data]") {
  const Folder folder;
  const auto opened = [&] {
    return make_dataset(component("text_csv", folder.path, R"("split": {"val": 0.5})"),
                        Split::kTrain);
  };
  folder.write("train.csv", "text,label\none,a\ntwo,\nthree,b\n");
  CHECK_THROWS_WITH(opened(), Catch::Contains("train.csv:3: the label is empty; expected a class"));
  CHECK_THROWS_AS(opened(), FileError);
  folder.write("train.csv", "text,label\none,a\ntwo,\"  \"\nthree,b\n");
  CHECK_THROWS_WITH(opened(), Catch::Contains("train.csv:3: the label is empty"));
}

TEST_CASE("exclude: samples that belong to no part", "[data]") {
  const Folder folder;
  for (const char* name : {"a", "b", "c", "d"})
    folder.write(std::string("train/cat/") + name + ".png", encode_png(pattern(4, 4, 3)));
  folder.write("test/cat/t.png", encode_png(pattern(4, 4, 3)));
  folder.write("test/cat/u.png", encode_png(pattern(4, 4, 3)));
  const auto opened = [&](const std::string& names, const std::string& more = "") {
    return make_splits(
        component("image_folder", folder.path, "\"exclude\": [" + names + "]" + more));
  };
  const Splits two = opened(R"("b", "test/cat/u.png")");
  CHECK(two.train->size() == 3);
  CHECK(two.test->size() == 1);
  CHECK(joined(two.all_notes()) ==
        "dataset.exclude: 1 of 4 samples of train left out\n"
        "dataset.exclude: 1 of 2 samples of test left out\n");
  CHECK(two.train->name(1) == (folder.path / "train/cat/c.png").string());
  CHECK(opened("").notes.empty());
  // Before parts are drawn, and of lists of folds too.
  CHECK(opened(R"("a", "c")", R"(, "split": {"val": 0.5})").train->size() == 1);
  folder.write("splits_final.json", R"([{"train": ["a", "b"], "val": ["c"]},
                                        {"train": ["c"], "val": ["d"]}])");
  const Splits fold = opened(R"("a")", R"(, "split": {"fold": "0/2"})");
  CHECK(fold.train->size() == 1);
  CHECK(fold.val->size() == 1);
  CHECK_THROWS_WITH(opened(R"("train/cat/bb.png")"), Catch::Contains("no sample of this name"));
  CHECK_THROWS_AS(opened(R"("x")"), ConfigError);
}
