// image_folder: what is read of its files, what is left out, what is refused.
#include "tests/data/readers.h"

#include <filesystem>

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace fs = std::filesystem;

namespace {

void write_pictures(const Folder& folder) {
  for (const std::string part : {"train", "test"}) {
    folder.write(part + "/cat/0.png", encode_png(pattern(6, 6, 3, 1)));
    folder.write(part + "/cat/1.ppm", ppm(pattern(6, 6, 3, 2)));
    folder.write(part + "/dog/b.bmp", bmp(pattern(6, 6, 3, 3)));
    folder.write(part + "/dog/a.PNG", encode_png(pattern(6, 6, 1, 4)));
  }
}

}  // namespace

TEST_CASE("image_folder: classes and files in byte order, formats mixed", "[data]") {
  const Folder folder;
  write_pictures(folder);
  folder.write("train/cat/notes.txt", "not looked at");
  folder.write("train/cat/.hidden.png", "not looked at");
  folder.write("train/readme.md", "not looked at");
  const auto train = open("image_folder", folder);
  CHECK(train->class_names() == std::vector<std::string>{"cat", "dog"});
  REQUIRE(train->size() == 4);
  CHECK(train->name(2) == (folder.path / "train/dog/a.PNG").string());
  CHECK(train->label(2) == 1);
  const Image expected = pattern(6, 6, 3, 2);
  CHECK(image_of(train->get(1))[0] == static_cast<float>(expected.pixels[0]) / 255.0f);
  CHECK(image_of(train->get(1))[36] == static_cast<float>(expected.pixels[1]) / 255.0f);
  CHECK(open("image_folder", folder, R"("in_chans": 1)")->fields()[0].shape.numel() == 36);
  CHECK_FALSE(has_part(component("image_folder", folder.path), Split::kVal));
}

TEST_CASE("image_folder: img_size resizes and takes the centre; without it sizes must agree",
          "[data]") {
  const Folder folder;
  write_pictures(folder);
  // Left and right thirds black, middle white.
  Image wide{4, 12, 1, {}};
  for (int i = 0; i < 48; ++i) wide.pixels.push_back(i % 12 >= 4 && i % 12 < 8 ? 255 : 0);
  folder.write("train/cat/2.png", encode_png(wide));
  const auto sized = open("image_folder", folder, R"("img_size": 8)");
  CHECK(sized->fields()[0].shape.numel() == 3 * 64);
  const std::vector<float> image = image_of(sized->get(2));
  for (std::size_t i = 0; i < image.size(); ++i) {
    // Resized to 8 x 24 before columns 8 to 15 are cut out, so the black reaches in.
    CHECK(image[i] == (i % 8 == 0 || i % 8 == 7 ? 191.0f / 255 : 1.0f));
  }
  const auto unsized = open("image_folder", folder);
  CHECK_THROWS_WITH(unsized->get(2),
                    Catch::Contains("2.png: is 4 x 12, the first image of train 6 x 6"));
}

TEST_CASE("image_folder: a random resized crop sees all of a picture, and only in training",
          "[data]") {
  const Folder folder;
  // Grey values rise by 8 from column to column; the centre is columns 8 to 15.
  Image wide{8, 24, 1, {}};
  for (int i = 0; i < 8 * 24; ++i) wide.pixels.push_back(static_cast<std::uint8_t>(8 * (i % 24)));
  folder.write("train/cat/0.png", encode_png(wide));
  folder.write("test/cat/0.png", encode_png(wide));
  const std::string size = R"("img_size": 8, "in_chans": 1, "normalise": false)";
  const auto bytes = GENERATE(0, 1 << 20);
  const std::string more =
      size + R"(, "cache_bytes": )" + std::to_string(bytes) +
      R"(, "augment": [{"type": "random_resized_crop", "scale": [0.08, 0.3]}])";
  const auto plain = open("image_folder", folder, size);
  const auto train = open("image_folder", folder, more);
  CHECK(train->fields()[0].shape == Shape{1, 8, 8});
  CHECK(image_of(train->get(0)) == image_of(plain->get(0)));
  CHECK(image_of(train->get(0))[0] == 64.0f / 255);
  CHECK(image_of(prepared(*train, 0)) == image_of(plain->get(0)));
  CHECK(image_of(prepared(*open("image_folder", folder, more, Split::kTest), 0)) ==
        image_of(plain->get(0)));
  float least = 1, most = 0;
  for (std::int64_t epoch = 0; epoch < 40; ++epoch) {
    const Draw draw{.seed = 3, .epoch = epoch, .augment = true};
    const auto x = image_of(prepared(*train, 0, draw));
    CHECK(x == image_of(prepared(*train, 0, draw)));
    least = std::min(least, x.front());
    most = std::max(most, x.back());
  }
  CHECK(least < 40.0f / 255);
  CHECK(most > 150.0f / 255);
}

TEST_CASE("image_folder: val is read, and never stands in for a missing test", "[data]") {
  const Folder folder;
  write_pictures(folder);
  folder.write("val/cat/9.png", encode_png(pattern(6, 6, 3, 9)));
  CHECK(has_part(component("image_folder", folder.path), Split::kVal));
  CHECK(open("image_folder", folder, "", Split::kVal)->size() == 1);
  CHECK(open("image_folder", folder, "", Split::kTest)->size() == 4);
  fs::remove_all(folder.path / "test");
  CHECK_THROWS_WITH(open("image_folder", folder, "", Split::kTest),
                    Catch::Contains("no split \"test\"; set dataset.split.test"));
  const Splits parts = make_splits(component("image_folder", folder.path));
  CHECK(parts.train->size() == 4);
  CHECK(parts.val->size() == 1);
  CHECK(parts.test == nullptr);
  fs::remove_all(folder.path / "val");
  CHECK_THROWS_WITH(make_splits(component("image_folder", folder.path)),
                    Catch::Contains("has neither a val nor a test part; set dataset.split.test"));
}

TEST_CASE("image_folder: what is missing or strange is named", "[data]") {
  const Folder folder;
  check_refused("image_folder", folder, "train: not found; see datasets/image_folder.md");
  write_pictures(folder);
  fs::create_directory(folder.path / "train/emu");
  check_refused(
      "image_folder", folder,
      "image_folder: " + (folder.path / "train/emu").string() + ": holds no image; expected");
  fs::remove(folder.path / "train/emu");
  folder.write("test/dogs/1.png", encode_png(pattern(6, 6, 3)));
  check_refused("image_folder", folder,
                "none of the classes trained on has this name; did you mean \"dog\"?", "",
                Split::kTest);
  fs::create_symlink("loop", folder.path / "train/loop");
  check_refused("image_folder", folder, "train/loop: is a link that leads nowhere");
  fs::remove(folder.path / "train/loop");
  fs::create_symlink("gone.png", folder.path / "train/cat/3.png");
  check_refused("image_folder", folder, "train/cat/3.png: is a link that leads nowhere");
  fs::remove(folder.path / "train/cat/3.png");
  // A link back to the root is a folder inside a class: not an image, and not followed.
  fs::create_directory_symlink(folder.path, folder.path / "train/cat/up.png");
  CHECK(open("image_folder", folder)->size() == 4);
}

TEST_CASE("image_folder: a bad first picture does not hide the others", "[data]") {
  const Folder folder;
  write_pictures(folder);
  folder.write("train/cat/0.png", "no picture");
  const auto train = open("image_folder", folder);
  CHECK(train->height() == 6);
  CHECK_THROWS_WITH(train->get(0), Catch::Contains("0.png: is not a PNG"));
  CHECK(train->label(1) == 0);
}

TEST_CASE("cache: bounded, and never changes what is read", "[data]") {
  const Folder folder;
  write_pictures(folder);
  const auto bytes = GENERATE(0, 200, 1 << 20);
  const auto train = open("image_folder", folder, R"("cache_bytes": )" + std::to_string(bytes));
  std::vector<std::vector<float>> first;
  for (std::int64_t i = 0; i < 4; ++i) first.push_back(image_of(train->get(i)));
  fs::remove_all(folder.path / "train");
  int kept = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    try {
      const std::vector<float> again = image_of(train->get(i));
      CHECK(again == first[static_cast<std::size_t>(i)]);
      ++kept;
    } catch (const FileError&) {
    }
  }
  CHECK(kept == (bytes == 0 ? 0 : bytes == 200 ? 1 : 4));  // 108 bytes each
}

TEST_CASE("image_folder: names of classes and classes of a flat val, from ImageNet's lists",
          "[data]") {
  const Folder folder;
  folder.write("train/n01/a.png", encode_png(pattern(6, 6, 3, 1)));
  folder.write("train/n02/b.png", encode_png(pattern(6, 6, 3, 2)));
  folder.write("train/n03/c.png", encode_png(pattern(6, 6, 3, 3)));
  for (const char* name : {"1", "2", "3"})
    folder.write(std::string("val/ILSVRC2012_val_") + name + ".png",
                 encode_png(pattern(6, 6, 3, 4)));
  folder.write("test/nobody_knows.png", encode_png(pattern(6, 6, 3, 5)));
  folder.write("names.txt", "n01 tench, Tinca tinca\nn02 crane\nn03 crane\nn99 unseen\n");
  folder.write("val.csv",
               "ImageId,PredictionString\nILSVRC2012_val_2,n03 1 2 3 4 n03 5 6 7 8\n"
               "ILSVRC2012_val_1,n01 0 0 1 1\r\nILSVRC2012_val_3,n03 1 1 1 1\n");
  const auto with = [&](const std::string& list) {
    return component("image_folder", folder.path,
                     R"("class_names": "names.txt", "val_labels": ")" + list + "\"");
  };
  const auto labels = [&](const std::string& list) {
    const auto val = make_dataset(with(list), Split::kVal);
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < val->size(); ++i) all.push_back(val->label(i));
    return all;
  };
  const std::vector<std::int64_t> expected = {0, 2, 2};
  CHECK(labels("val.csv") == expected);
  CHECK(make_dataset(with("val.csv"), Split::kVal)->class_names() ==
        std::vector<std::string>{"tench, Tinca tinca", "crane (n02)", "crane (n03)"});
  CHECK_FALSE(has_part(with("val.csv"), Split::kTest));
  folder.write("ordered.txt", "n01\nn03\n\nn03\n");
  CHECK(labels("ordered.txt") == expected);
  folder.write("numbers.txt",
               "ILSVRC2012_val_1.JPEG 0\nILSVRC2012_val_2.JPEG 2\n"
               "ILSVRC2012_val_3.JPEG 2\n");
  CHECK(labels("numbers.txt") == expected);

  const auto refused = [&](const std::string& content, const std::string& message) {
    INFO(content);
    folder.write("bad.txt", content);
    CHECK_THROWS_WITH(labels("bad.txt"), Catch::Contains(message));
    CHECK_THROWS_AS(labels("bad.txt"), FileError);
  };
  refused("490\n361\n171\n", "bad.txt:1: a number alone");
  refused("ILSVRC2012_val_1,n01\nILSVRC2012_val_2,n04\n", "bad.txt:2: train has no class \"n04\"");
  refused("ILSVRC2012_val_1,n01\nILSVRC2012_val_2,n02\n", "has no line for");
  refused("n01\nn02\n", "2 lines for 3 pictures");
  refused("ILSVRC2012_val_1 7\n", "train has no class \"7\"");
  refused("ILSVRC2012_val_1,n01\nILSVRC2012_val_2\n", "bad.txt:2: expected a picture");
  refused("", "is empty");
  folder.write("names.txt", "n77 other\n");
  CHECK_THROWS_WITH(labels("val.csv"), Catch::Contains("names none of the classes"));
  CHECK_THROWS_AS(labels("none.csv"), FileError);
}

namespace {

// Six pictures in one folder and a table of them.
void write_table(const Folder& folder, const std::string& name, const std::string& text) {
  for (int i = 0; i < 6; ++i)
    folder.write("pictures/p" + std::to_string(i) + (i == 5 ? ".ppm" : ".png"),
                 i == 5 ? ppm(pattern(6, 6, 3, i)) : encode_png(pattern(6, 6, 3, i)));
  folder.write(name, text);
}

constexpr const char* kListed = R"("table": "labels.csv", "images": "pictures")";

}  // namespace

TEST_CASE("image_folder: a table says file, class and part of every picture", "[data]") {
  const Folder folder;
  write_table(
      folder, "labels.csv",
      "\xEF\xBB\xBFsplit,file,label,age\r\ntrain,p0.png,\"big, cat\",3\r\nval,p1.png,dog,1\r\n"
      "train,p2.png,dog,2\r\n\r\ntest,p5,dog,9\r\nvalidation,p3,\"big, cat\",4\r\n");
  const auto train = open("image_folder", folder, kListed);
  CHECK(train->class_names() == std::vector<std::string>{"big, cat", "dog"});
  REQUIRE(train->size() == 2);
  CHECK(train->label(1) == 1);
  CHECK(train->name(1) == (folder.path / "pictures/p2.png").string());
  const auto val = open("image_folder", folder, kListed, Split::kVal);
  REQUIRE(val->size() == 2);
  CHECK(val->label(0) == 1);
  CHECK(val->name(1) == (folder.path / "pictures/p3.png").string());
  const auto test = open("image_folder", folder, kListed, Split::kTest);
  CHECK(test->name(0) == (folder.path / "pictures/p5.ppm").string());
  CHECK(image_of(test->get(0))[0] == static_cast<float>(pattern(6, 6, 3, 5).pixels[0]) / 255.0f);
}

TEST_CASE("image_folder: a table without parts, by tabs, with other columns and numbers as classes",
          "[data]") {
  const Folder folder;
  write_table(folder, "all.tsv",
              "id_code\tdiagnosis\np0\t10\np1\t9\np2\t10\np3\t0\np4\t0\np5\t9\n");
  const std::string keys =
      R"("table": "all.tsv", "images": "pictures", "file_column": "id_code",
         "label_column": "diagnosis", "split": {"test": 0.5})";
  const auto train = open("image_folder", folder, keys);
  const auto test = open("image_folder", folder, keys, Split::kTest);
  CHECK(train->class_names() == std::vector<std::string>{"0", "9", "10"});
  CHECK(train->size() + test->size() == 6);
  CHECK(test->size() == 3);
}

TEST_CASE("image_folder: a table for each part", "[data]") {
  const Folder folder;
  write_table(folder, "lists/train.csv", "file,label\np0.png,a\np1.png,b\n");
  folder.write("lists/valid.csv", "label,file\nb,p2.png\n");
  const std::string keys = R"("table": "lists/{split}.csv", "images": "pictures")";
  CHECK(open("image_folder", folder, keys)->size() == 2);
  const auto val = open("image_folder", folder, keys, Split::kVal);
  REQUIRE(val->size() == 1);
  CHECK(val->label(0) == 1);
  CHECK_FALSE(has_part(component("image_folder", folder.path, keys), Split::kTest));
  folder.write("lists/valid.csv", "label,file\nc,p2.png\n");
  CHECK_THROWS_WITH(open("image_folder", folder, keys, Split::kVal),
                    Catch::Contains("valid.csv:2: train has no class \"c\""));
}

TEST_CASE("image_folder: what is wrong with a table is named with its line", "[data]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"file,class\np0.png,a\n", "labels.csv:1: has no column \"label\""},
      {"file,lable\np0.png,a\n", "did you mean \"lable\"?"},
      {"file,label\n", "labels.csv: holds no rows"},
      {"file,label\np0.png,a\np0.png,b\n", "labels.csv:3: p0.png is also in line 2"},
      {"file,label\np0.png,a,b\n", "labels.csv:2: has 3 fields; expected 2"},
      {"file,label\np0.png,\n", "labels.csv:2: the label is empty"},
      {"file,label\n,a\n", "labels.csv:2: the file is empty"},
      {"file,label,split\np0.png,a,fold1\n",
       "labels.csv:2: the part is \"fold1\"; expected train, val or test"},
      {"file,label,split\np0.png,a,test\n", "labels.csv: no row is of train"},
      {"file,label\np9.png,a\n", "labels.csv:2: "},  // not found
      {"file,label\n\"p0.png,a\n", "labels.csv:2: "},
  }));
  const Folder folder;
  write_table(folder, "labels.csv", text);
  CHECK_THROWS_WITH(open("image_folder", folder, kListed), Catch::Contains(message));
}

TEST_CASE("image_folder: keys of a table without one are refused, missing files can be skipped",
          "[data]") {
  const Folder folder;
  write_table(folder, "labels.csv", "file,label\np0.png,a\np9.png,b\n");
  CHECK_THROWS_WITH(open("image_folder", folder, R"("images": "pictures")"),
                    Catch::Contains("are of a table; set table"));
  CHECK_THROWS_WITH(open("image_folder", folder, kListed + std::string(R"(, "val_labels": "x")")),
                    Catch::Contains("val_labels is given with a table"));
  const auto kept =
      open("image_folder", folder, kListed + std::string(R"(, "on_bad_sample": "skip")"));
  CHECK(kept->size() == 1);
  CHECK(kept->num_classes() == 2);
  REQUIRE(kept->left_out().size() == 1);
  CHECK_THAT(kept->left_out()[0], Catch::Contains("labels.csv:3: "));
}
