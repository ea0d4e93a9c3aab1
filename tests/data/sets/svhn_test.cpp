// SVHN's .mat files, here written by scipy's savemat (compressed): x and y of a pixel stay apart,
// label 10 is the digit 0.
#include <catch2/catch.hpp>

#include <filesystem>

#include "base/file.h"
#include "tests/data/readers.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

std::filesystem::path fixtures() {
  return std::filesystem::path(fovea::test::source_dir()) / "tests/fixtures/svhn";
}

// Pixel (y, x) of channel c in picture i, as the fixture was made.
float pixel(std::int64_t i, std::int64_t c, std::int64_t y, std::int64_t x) {
  return static_cast<float>((y * (c + 1) + x * 2 + i * 20) % 256) / 255.0f;
}

std::string content(const char* name) {
  const auto bytes = io::read_bytes(fixtures() / name, 1 << 20);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("svhn: pictures and digits of scipy's files", "[data]") {
  const auto train = make_images(component("svhn", fixtures()), Split::kTrain);
  REQUIRE(train->size() == 4);
  CHECK(train->num_classes() == 10);
  CHECK(train->class_names()[3] == "3");
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(train->label(i) == std::vector<std::int64_t>{0, 1, 9, 5}[static_cast<std::size_t>(i)]);
  for (const std::int64_t i : {0, 3}) {
    const auto values = image_of(train->get(i));
    bool same = true;
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t y = 0; y < 32; ++y) {
        for (std::int64_t x = 0; x < 32; ++x)
          same =
              same && values[static_cast<std::size_t>((c * 32 + y) * 32 + x)] == pixel(i, c, y, x);
      }
    }
    CHECK(same);
  }
  CHECK(make_images(component("svhn", fixtures()), Split::kTest)->size() == 2);
  CHECK_FALSE(has_part(component("svhn", fixtures()), Split::kVal));
  CHECK(std::vector<double>(train->mean().begin(), train->mean().end()) ==
        std::vector<double>{0.4377, 0.4438, 0.4728});
}

TEST_CASE("svhn: cut and flipped files end in one line", "[data]") {
  const Folder folder;
  const std::string whole = content("train_32x32.mat");
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 40) {
    folder.write("train_32x32.mat", whole.substr(0, size));
    CHECK_THROWS_AS(open("svhn", folder), FileError);
  }
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(~flipped[at]);
    folder.write("train_32x32.mat", flipped);
    try {
      open("svhn", folder);
    } catch (const FileError& error) {
      CHECK_THAT(error.what(), !Catch::Contains("\n"));
      ++refused;
    }
  }
  CHECK(refused > 10);
}

TEST_CASE("svhn: missing files and other variables are said", "[data]") {
  const Folder folder;
  CHECK_THROWS_WITH(open("svhn", folder), Catch::Contains("train_32x32.mat: not found; see"));
  folder.write("train_32x32.mat", "no such file");
  CHECK_THROWS_WITH(open("svhn", folder), Catch::Contains("is not a .mat file"));
}
