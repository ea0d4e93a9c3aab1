// Readers of files: valid ones are read as laid out, damaged ones are refused with their name.
#include <catch2/catch.hpp>

#include <filesystem>

#include "base/error.h"
#include "data/packed_file.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace fs = std::filesystem;

namespace {

std::string be32(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xffu);
  return out;
}

std::string idx_images(std::uint32_t count, std::uint32_t side = 28) {
  std::string out = std::string("\0\0\x08\x03", 4) + be32(count) + be32(side) + be32(side);
  for (std::uint32_t i = 0; i < count * side * side; ++i) out += static_cast<char>(i % 251);
  return out;
}

std::string idx_labels(std::uint32_t count) {
  std::string out = std::string("\0\0\x08\x01", 4) + be32(count);
  for (std::uint32_t i = 0; i < count; ++i) out += static_cast<char>(i % 10);
  return out;
}

void write_mnist(const Folder& folder, bool packed = false) {
  const auto write = [&](const std::string& name, const std::string& content) {
    folder.write(packed ? name + ".gz" : name, packed ? gzip(content) : content);
  };
  write("train-images-idx3-ubyte", idx_images(30));
  write("train-labels-idx1-ubyte", idx_labels(30));
  write("t10k-images-idx3-ubyte", idx_images(10));
  write("t10k-labels-idx1-ubyte", idx_labels(10));
}

// Red plane 1, green plane 2, blue plane 3, all times the record's label + 1.
std::string cifar_records(int count, const std::string& label_prefix = "") {
  std::string out;
  for (int r = 0; r < count; ++r) {
    out += label_prefix + static_cast<char>(r % 10);
    for (int c = 1; c <= 3; ++c) out += std::string(1024, static_cast<char>(c * (r % 10 + 1)));
  }
  return out;
}

void write_cifar10(const Folder& folder) {
  for (int k = 1; k <= 5; ++k) {
    folder.write("data_batch_" + std::to_string(k) + ".bin", cifar_records(4));
  }
  folder.write("test_batch.bin", cifar_records(10));
}

void write_pictures(const Folder& folder) {
  for (const std::string part : {"train", "test"}) {
    folder.write(part + "/cat/0.png", encode_png(pattern(6, 6, 3, 1)));
    folder.write(part + "/cat/1.ppm", ppm(pattern(6, 6, 3, 2)));
    folder.write(part + "/dog/b.bmp", bmp(pattern(6, 6, 3, 3)));
    folder.write(part + "/dog/a.PNG", encode_png(pattern(6, 6, 1, 4)));
  }
}

std::shared_ptr<const ImageDataset> open(const std::string& type, const Folder& folder,
                                         const std::string& more = "",
                                         Split split = Split::kTrain) {
  return make_images(component(type, folder.path, more), split);
}

void check_refused(const std::string& type, const Folder& folder, const std::string& part,
                   const std::string& more = "", Split split = Split::kTrain) {
  INFO(type << " expecting: " << part);
  CHECK_THROWS_WITH(open(type, folder, more, split), Catch::Contains(part));
  CHECK_THROWS_AS(open(type, folder, more, split), FileError);
}

}  // namespace

TEST_CASE("what is known of a data set before its files are there is what they hold", "[data]") {
  const Folder folder;
  write_cifar10(folder);
  folder.write("train.bin", cifar_records(3, "\x07"));
  write_mnist(folder);
  const std::vector<std::pair<std::string, std::string>> known = {
      {"cifar10", ""},
      {"cifar100", ""},
      {"cifar100", R"("labels": "coarse")"},
      {"mnist", ""},
      {"synthetic_segmentation", R"("num_classes": 3)"},
      {"fashion_mnist", R"("pad_to_32": true, "repeat_channels": true)"}};
  for (const auto& [type, more] : known) {
    CAPTURE(type, more);
    const auto shape = known_shape(component(type, "/nowhere", more));
    REQUIRE(shape.has_value());
    const auto dataset = open(type, folder, more);
    CHECK(shape->channels == dataset->channels());
    CHECK(shape->height == dataset->height());
    CHECK(shape->width == dataset->width());
    CHECK(shape->classes == dataset->num_classes());
    CHECK(shape->label_maps == dataset->shape().label_maps);
  }
  CHECK_FALSE(known_shape(component("image_folder", "/nowhere", "")).has_value());
}

TEST_CASE("cifar10: records, planes and labels", "[data]") {
  const Folder folder;
  write_cifar10(folder);
  const auto train = open("cifar10", folder);
  CHECK(train->size() == 20);
  CHECK(open("cifar10", folder, "", Split::kTest)->size() == 10);
  const Sample sample = train->get(6);  // record 2 of the second file
  CHECK(sample.at("label").item<std::int64_t>() == 2);
  CHECK(sample.geometry.original_size == std::vector<std::int64_t>{32, 32});
  const std::vector<float> pixels = image_of(sample);
  CHECK(sample.name == (folder.path / "data_batch_2.bin").string() + ": record 2");
  CHECK(pixels[0] == 3.0f / 255.0f);
  CHECK(pixels[1024] == 6.0f / 255.0f);
  CHECK(pixels[3071] == 9.0f / 255.0f);
  CHECK(train->class_names()[2] == "bird");
  CHECK(train->mean()[1] == 0.4822);
}

TEST_CASE("cifar10: the folder of the official archive and .gz files are found", "[data]") {
  const Folder folder;
  for (int k = 1; k <= 5; ++k) {
    folder.write("cifar-10-batches-bin/data_batch_" + std::to_string(k) + ".bin.gz",
                 gzip(cifar_records(2)));
  }
  CHECK(open("cifar10", folder)->size() == 10);
}

TEST_CASE("cifar100: fine and coarse labels", "[data]") {
  const Folder folder;
  folder.write("train.bin", cifar_records(3, "\x07"));
  folder.write("test.bin", cifar_records(2, "\x13"));
  CHECK(open("cifar100", folder)->label(2) == 2);
  CHECK(open("cifar100", folder)->num_classes() == 100);
  CHECK(open("cifar100", folder)->class_names()[99] == "worm");
  const auto coarse = open("cifar100", folder, R"("labels": "coarse")", Split::kTest);
  CHECK(coarse->label(1) == 19);
  CHECK(coarse->class_names()[19] == "vehicles_2");
  CHECK(image_of(coarse->get(0))[0] == 1.0f / 255.0f);
}

TEST_CASE("cifar10: missing, cut and wrong files are refused by name", "[data]") {
  const Folder folder;
  write_cifar10(folder);
  const auto third = folder.path / "data_batch_3.bin";
  fs::remove(third);
  check_refused("cifar10", folder,
                "dataset.root: " + third.string() + ": not found; see datasets/cifar10.md");
  folder.write("data_batch_3.bin", cifar_records(2).substr(0, 3073 + 1500));
  check_refused("cifar10", folder, "not a whole number of records of 3073 bytes");
  folder.write("data_batch_3.bin", "");
  check_refused("cifar10", folder, "data_batch_3.bin: 0 bytes");
  std::string bad = cifar_records(3);
  bad[3073] = 14;
  folder.write("data_batch_3.bin", bad);
  check_refused("cifar10", folder, "data_batch_3.bin: label 14 in record 1; expected 0..9");
  const auto skipping = open("cifar10", folder, R"("on_bad_sample": "skip")");
  CHECK(skipping->size() == 18);
  REQUIRE(skipping->left_out().size() == 1);
  CHECK_THAT(skipping->left_out()[0], Catch::Contains("label 14"));
  fs::remove(third);
  fs::create_directory(third);
  check_refused("cifar10", folder, "is not a regular file");
  fs::remove(third);
  fs::create_symlink(third, third);
  check_refused("cifar10", folder, "cannot be read");
}

TEST_CASE("mnist: plain and compressed files, padding and repetition", "[data]") {
  const Folder folder;
  write_mnist(folder, GENERATE(false, true));
  const auto type = GENERATE(as<std::string>{}, "mnist", "fashion_mnist");
  const auto plain = open(type, folder);
  CHECK(plain->size() == 30);
  CHECK(plain->fields()[0].shape.numel() == 28 * 28);
  CHECK(image_of(plain->get(0))[29] == 29.0f / 255.0f);
  CHECK(plain->label(13) == 3);
  const auto padded =
      open(type, folder, R"("pad_to_32": true, "repeat_channels": true)", Split::kTest);
  CHECK(padded->size() == 10);
  CHECK(padded->fields()[0].shape.numel() == 3 * 32 * 32);
  const auto image = image_of(padded->get(0));
  CHECK(image[0] == 0.0f);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(image[c * 1024 + 2 * 32 + 2 + 1] == 1.0f / 255.0f);
    CHECK(image[c * 1024 + 3 * 32 + 2 + 1] == 29.0f / 255.0f);
    CHECK(image[c * 1024 + 31 * 32 + 5] == 0.0f);
  }
  CHECK(padded->mean().size() == 3);
}

TEST_CASE("mnist: damaged files are refused by name", "[data]") {
  const Folder folder;
  write_mnist(folder);
  const std::string images = "train-images-idx3-ubyte";
  const std::string labels = "train-labels-idx1-ubyte";
  const std::string good = idx_images(30);
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{15}}) {
    folder.write(images, good.substr(0, size));
    check_refused("mnist", folder, "less than an IDX header");
  }
  folder.write(images, good.substr(0, good.size() - 1));
  check_refused("mnist", folder, "header promises 23520 bytes of data, file holds 23519");
  folder.write(images, good + "x");
  check_refused("mnist", folder, "file holds 23521");
  folder.write(images, idx_labels(30));
  check_refused("mnist", folder, "expected 00 00 08 03");
  folder.write(images, std::string("\0\0\x08\x03", 4) + std::string(12, '\x7f'));
  check_refused("mnist", folder, "their product at most");
  folder.write(images, idx_images(29));
  check_refused("mnist", folder, "30 labels for the 29 images");
  folder.write(images, idx_images(30, 40));
  check_refused("mnist", folder, "cannot be padded", R"("pad_to_32": true)");
  folder.write(images, good);
  std::string wrong = idx_labels(30);
  wrong[8 + 4] = 10;
  folder.write(labels, wrong);
  check_refused("mnist", folder, "label 10 at position 4; expected 0..9");
  CHECK(open("mnist", folder, R"("on_bad_sample": "skip")")->size() == 29);
  fs::remove(folder.path / labels);
  check_refused("mnist", folder, "not found; see datasets/mnist.md");
}

TEST_CASE("gzip: cut, damaged and exploding streams are refused", "[data]") {
  const std::string content = idx_images(30);
  const std::string packed = gzip(content);
  CHECK(inflate(bytes_of(packed), content.size(), "f").size() == content.size());
  CHECK_THROWS_WITH(inflate(bytes_of(packed), content.size() - 1, "f"),
                    Catch::Contains("f: expands to more than the expected"));
  for (std::size_t size = 0; size < packed.size(); size += 7) {
    CHECK_THROWS_WITH(inflate(bytes_of(packed.substr(0, size)), content.size(), "f"),
                      Catch::Contains("ends early"));
  }
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x10);
  CHECK_THROWS_AS(inflate(bytes_of(damaged), content.size(), "f"), FileError);
  CHECK_THROWS_WITH(inflate(bytes_of(packed + "tail"), content.size(), "f"),
                    Catch::Contains("4 bytes after the end"));
  CHECK(inflate(bytes_of(packed + packed), 2 * content.size(), "f").size() == 2 * content.size());
  // Sixty-four megabytes of zeros behind a header that promises one image.
  const Folder folder;
  write_mnist(folder);
  fs::remove(folder.path / "train-images-idx3-ubyte");
  const std::string bomb =
      gzip(idx_images(1).substr(0, 16) + std::string(std::size_t{1} << 26, '\0'));
  CHECK(bomb.size() < 100000);
  folder.write("train-images-idx3-ubyte.gz", bomb);
  check_refused("mnist", folder, "expands to more than the expected 800 bytes");
}

TEST_CASE("digits: bad lines are refused with their number", "[data]") {
  const Folder folder;
  const auto line = [](const std::string& pixel, const std::string& label) {
    std::string out;
    for (int k = 0; k < 64; ++k) out += (k == 5 ? pixel : "16") + ",";
    return out + label + "\n";
  };
  folder.write("digits.csv", line("0", "9") + line("3", "0"));
  CHECK(open("digits", folder)->size() == 2);
  CHECK(open("digits", folder)->label(0) == 9);
  for (const std::string& bad :
       {line("17", "1"), line("-1", "1"), line("x", "1"), line("", "1"), line("1", "10"),
        line("1", "1,2"), std::string("1,2,3\n"), std::string("\n"), line("1.5", "1")}) {
    folder.write("digits.csv", line("0", "9") + bad);
    check_refused("digits", folder, "digits.csv:2: ");
  }
  folder.write("digits.csv", "");
  CHECK_THROWS_WITH(open("digits", folder), Catch::Contains("left without samples"));
}

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
  const Splits parts = make(component("image_folder", folder.path));
  CHECK(parts.train->size() == 4);
  CHECK(parts.val->size() == 1);
  CHECK(parts.test == nullptr);
  fs::remove_all(folder.path / "val");
  CHECK_THROWS_WITH(make(component("image_folder", folder.path)),
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
  check_refused("image_folder", folder, "train has no class of this name; did you mean \"dog\"?",
                "", Split::kTest);
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
