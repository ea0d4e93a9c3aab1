// TIFF and WebP files: the pixels that Pillow 12 and tifffile give, what is refused, and damage.
#include <catch2/catch.hpp>

#include <set>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::data;

namespace {

// NAME.png beside a file holds its pixels as the oracle gave them.
std::string fixture(const std::string& name) {
  return fovea::test::source_dir() + "/tests/fixtures/pictures/" + name;
}

std::vector<std::byte> bytes(const std::string& name) {
  return io::read_bytes(fixture(name), kMaxImageFileBytes);
}

}  // namespace

TEST_CASE("pictures: TIFF and WebP files have the pixels that Pillow gives", "[data]") {
  const auto name =
      GENERATE(as<std::string>{}, "grey8.tif", "grey16_deflate.tif", "grey16_big_endian.tif",
               "rgb_lzw.tif", "rgb_planar.tif", "rgb16.tif", "rgba.tif", "white_is_zero.tif",
               "tiled.tif", "strips.tif", "bigtiff.tif", "black_and_white.tif", "fax.tif",
               "palette.tif", "with_thumbnail.tif", "lossless.webp", "lossy.webp", "alpha.webp");
  INFO(name);
  const Image read = read_image(fixture(name)), expected = read_image(fixture(name + ".png"));
  CHECK(read.height == expected.height);
  CHECK(read.width == expected.width);
  CHECK(read.channels == expected.channels);
  CHECK(read.pixels == expected.pixels);
  CHECK(read.deep == expected.deep);
  CHECK(read_image(fixture(name), 1).channels == 1);
  CHECK(read_image(fixture(name), 3).channels == 3);
}

TEST_CASE("pictures: a TIFF of JPEG is close to Pillow's, whose libjpeg may be another", "[data]") {
  const Image read = read_image(fixture("jpeg.tif")),
              expected = read_image(fixture("jpeg.tif.png"));
  REQUIRE(read.pixels.size() == expected.pixels.size());
  int worst = 0;
  for (std::size_t i = 0; i < read.pixels.size(); ++i)
    worst = std::max(worst, std::abs(int{read.pixels[i]} - int{expected.pixels[i]}));
  CHECK(worst <= 4);
}

TEST_CASE("pictures: masks of TIFF and WebP files", "[data]") {
  CHECK(read_mask_file(fixture("grey8.tif"), MaskPixels::kStored).image.pixels ==
        read_image(fixture("grey8.tif.png")).pixels);
  const MaskFile palette = read_mask_file(fixture("palette.tif"), MaskPixels::kStored);
  CHECK(std::set<int>(palette.image.pixels.begin(), palette.image.pixels.end()) ==
        std::set<int>{0, 1, 2, 3, 4});
  CHECK_FALSE(palette.lossy);
  CHECK_FALSE(read_mask_file(fixture("lossless.webp"), MaskPixels::kStored).lossy);
  CHECK(read_mask_file(fixture("lossy.webp"), MaskPixels::kStored).lossy);
  CHECK(read_mask_file(fixture("jpeg.tif"), MaskPixels::kStored).lossy);
}

TEST_CASE("pictures: what is no single picture of 8 or 16 bits is refused by name", "[data]") {
  const auto [name, message] = GENERATE(table<std::string, std::string>({
      {"pages.tif", "pages.tif: is a TIFF of 2 pages; expected one picture"},
      {"float.tif", "float.tif: is a TIFF of 32 bits a value, floating-point; expected whole"},
      {"int16.tif", "int16.tif: is a TIFF of 16 bits a value, with sign; expected whole"},
      {"uint32.tif", "uint32.tif: is a TIFF of 32 bits a value; expected whole"},
      {"five_channels.tif", "five_channels.tif: is a TIFF of 5 channels; expected 1 to 4"},
      {"animation.webp", "animation.webp: is a WebP animation; expected one picture"},
  }));
  CHECK_THROWS_WITH(read_image(fixture(name)), Catch::Contains(message));
}

TEST_CASE("pictures: cut and flipped TIFF and WebP files are read or refused", "[data]") {
  const auto name =
      GENERATE(as<std::string>{}, "grey16_deflate.tif", "rgb_lzw.tif", "tiled.tif", "fax.tif",
               "jpeg.tif", "palette.tif", "with_thumbnail.tif", "lossy.webp", "alpha.webp");
  const std::vector<std::byte> whole = bytes(name);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    INFO(name << " cut to " << size);
    try {  // some writers put the directory before the last pixels, others nothing needed behind
      decode_image({whole.data(), size}, "file");
      CHECK(name.ends_with(".tif"));
    } catch (const FileError& error) {
      CHECK_THAT(error.what(), Catch::StartsWith("file: ") && !Catch::Contains("\n"));
    }
  }
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::vector<std::byte> flipped = whole;
    flipped[at] ^= std::byte{0xff};
    INFO(name << " flipped at " << at);
    try {
      decode_image(flipped, "file");
    } catch (const FileError& error) {
      CHECK_THAT(error.what(), Catch::StartsWith("file: ") && !Catch::Contains("\n"));
    }
  }
}
