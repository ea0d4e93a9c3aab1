// What is foreground in mask files of every kind.
#include "data/images/mask_values.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

// Files of one row each.
std::vector<std::filesystem::path> masks(const Folder& folder,
                                         const std::vector<std::vector<std::uint8_t>>& rows) {
  std::vector<std::filesystem::path> files;
  for (const auto& row : rows) {
    const Image image{1, static_cast<std::int64_t>(row.size()), 1, row};
    files.push_back(folder.write("m" + std::to_string(files.size()) + ".png", encode_png(image)));
  }
  return files;
}

std::vector<std::uint8_t> applied(const MaskRule& rule, const std::filesystem::path& file) {
  return rule.apply(rule.read(file), file.filename().string()).pixels;
}

using Bytes = std::vector<std::uint8_t>;

}  // namespace

TEST_CASE("masks: 0 and 1, 0 and 255, and soft borders are recognised", "[data]") {
  const Folder folder;
  auto files = masks(folder, {{0, 0, 0, 0}, {0, 1, 1, 0}, {1, 1, 1, 1}});
  CHECK(applied(MaskRule::recognise(files), files[1]) == Bytes{0, 255, 255, 0});
  files = masks(folder, {{0, 0, 0, 0}, {0, 255, 255, 0}});
  CHECK(applied(MaskRule::recognise(files), files[1]) == Bytes{0, 255, 255, 0});
  files = masks(folder, {{0, 100, 200, 255, 255}, {90, 160, 0, 0, 0}});
  CHECK(applied(MaskRule::recognise(files), files[0]) == Bytes{0, 0, 255, 255, 255});
  CHECK(applied(MaskRule::recognise(files), files[1]) == Bytes{0, 255, 0, 0, 0});
  // 16 bits, by their own white.
  files = {folder.write("deep.png", png16(1, 3, {0, 65535, 40000}))};
  CHECK(applied(MaskRule::recognise(files), files[0]) == Bytes{0, 255, 255});
  // A palette of colours with two classes.
  const std::string colours("\0\0\0\x80\0\0", 6);
  files = {folder.write("palette.png", png(1, 4, 1, 3, {"\x60"}, colours))};
  CHECK(applied(MaskRule::recognise(files), files[0]) == Bytes{0, 255, 255, 0});
}

TEST_CASE("masks: what could mean several things is asked for, with the values found", "[data]") {
  const Folder folder;
  const auto refused = [&](const std::vector<std::vector<std::uint8_t>>& rows,
                           const std::string& found) {
    const auto files = masks(folder, rows);
    CHECK_THROWS_AS(MaskRule::recognise(files), ConfigError);
    CHECK_THROWS_WITH(MaskRule::recognise(files),
                      Catch::Contains(found) && Catch::Contains("set dataset.mask_values"));
  };
  refused({{0, 1, 2, 2}}, "0 (25 % of the pixels), 1 (25 %), 2 (50 %) in 1 file");
  refused({{0, 1, 1, 0}, {0, 2, 0, 0}},
          "0 (62.5 % of the pixels), 1 (25 %), 2 (12.5 %) in 2 files");
  refused({{0, 76, 76, 0}}, "76 (50 %)");
  // Classes, and 255 for what is to be ignored.
  refused({{0, 1, 1, 255}}, "1 (50 %), 255 (25 %)");
  refused({{0, 1, 20, 255, 255, 255}}, "20 (16.7 %), 255 (50 %)");
  // 8-bit values in 16-bit files.
  const std::vector<std::filesystem::path> deep = {folder.write("deep.png", png16(1, 2, {0, 255}))};
  CHECK_THROWS_AS(MaskRule::recognise(deep), ConfigError);
  // A red object: the grey value of red.
  const std::vector<std::filesystem::path> red = {
      folder.write("red.png", encode_png({1, 2, 3, {0, 0, 0, 255, 0, 0}}))};
  CHECK_THROWS_WITH(MaskRule::recognise(red), Catch::Contains("76 (50 %)"));
  // More than a message holds.
  std::vector<std::uint8_t> many;
  for (int v = 0; v < 60; ++v) many.push_back(static_cast<std::uint8_t>(v));
  refused({many}, "11 (1.67 %) and 48 rarer ones in 1 file");
}

TEST_CASE("masks: nothing but background is said, unreadable files are passed over", "[data]") {
  const Folder folder;
  auto files = masks(folder, {{0, 0}, {0, 0, 0}});
  CHECK_THROWS_AS(MaskRule::recognise(files), FileError);
  CHECK_THROWS_WITH(MaskRule::recognise(files),
                    Catch::Contains("no foreground") && Catch::Contains("in 2 files"));
  files.push_back(folder.write("bad.png", "no picture"));
  CHECK_THROWS_WITH(MaskRule::recognise(files), Catch::Contains("no foreground"));
  CHECK_THROWS_WITH(MaskRule::recognise(std::vector{files.back()}), Catch::Contains("bad.png"));
  // The only foreground is far behind in the list.
  std::vector<std::vector<std::uint8_t>> rows(60, {0, 0});
  rows[58] = {0, 1};
  files = masks(folder, rows);
  CHECK(applied(MaskRule::recognise(files), files[58]) == Bytes{0, 255});
}

TEST_CASE("masks: a file that contradicts what was recognised is named", "[data]") {
  const Folder folder;
  std::vector<std::vector<std::uint8_t>> rows(40, {0, 1});
  const MaskRule ones = MaskRule::recognise(masks(folder, rows));
  const MaskRule ends = MaskRule::recognise(masks(folder, {{0, 255}}));
  const auto files = masks(folder, {{0, 2}, {0, 1}, {0, 255}, {0, 0}, {255, 255}});
  CHECK_THROWS_AS(applied(ones, files[0]), FileError);
  CHECK_THROWS_WITH(
      applied(ones, files[0]),
      Catch::Contains("m0.png: does not fit the other masks") && Catch::Contains("2 (50 %)"));
  CHECK_THROWS_WITH(applied(ones, files[2]), Catch::Contains("m2.png"));
  CHECK_THROWS_WITH(applied(ends, files[1]), Catch::Contains("m1.png"));
  CHECK(applied(ones, files[3]) == Bytes{0, 0});
  CHECK(applied(ends, files[3]) == Bytes{0, 0});
  CHECK(applied(ends, files[4]) == Bytes{255, 255});
}

TEST_CASE("masks: what was asked for is done", "[data]") {
  const Folder folder;
  const auto files = masks(folder, {{0, 1, 2, 130, 255}});
  CHECK(applied(MaskRule::values({2, 1}), files[0]) == Bytes{0, 255, 255, 0, 0});
  CHECK(applied(MaskRule::nonzero(), files[0]) == Bytes{0, 255, 255, 255, 255});
  CHECK(applied(MaskRule::threshold(128), files[0]) == Bytes{0, 0, 0, 255, 255});
  CHECK(applied(MaskRule::soft(), files[0]) == Bytes{0, 1, 2, 130, 255});
  CHECK(MaskRule::soft().has_foreground(MaskRule::soft().read(files[0])));
  CHECK_FALSE(MaskRule::values({3}).has_foreground(MaskRule::values({3}).read(files[0])));
  // A threshold is one of greys, so a palette is read as its colours: here yellow, then black.
  const std::string colours("\xff\xff\0\0\0\0", 6);
  const auto palette = folder.write("palette.png", png(1, 4, 1, 3, {"\x60"}, colours));
  CHECK(applied(MaskRule::threshold(128), palette) == Bytes{255, 0, 0, 255});
  CHECK(applied(MaskRule::nonzero(), palette) == Bytes{0, 255, 255, 0});
}

TEST_CASE("masks: a JPEG has a threshold, never exact values", "[data]") {
  const Folder folder;
  const auto file = folder.write("mask.jpg", tiny_jpeg());  // red and blue: greys 76 and 29
  CHECK_THROWS_AS(MaskRule::recognise(std::vector{file}), ConfigError);
  CHECK_THROWS_WITH(applied(MaskRule::nonzero(), file), Catch::Contains("is a JPEG file"));
  CHECK_THROWS_WITH(applied(MaskRule::values({76}), file), Catch::Contains("the value 76"));
  const auto mask = applied(MaskRule::threshold(50), file);
  CHECK(mask.front() == 255);
  CHECK(mask.back() == 0);
}
