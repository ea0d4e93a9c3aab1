// Readers of packed files: valid ones are read as laid out, damaged ones are refused with their
// name.
#include "tests/data/readers.h"

#include <filesystem>

#include "data/files/packed_file.h"

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
