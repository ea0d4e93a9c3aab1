// The orientation that cameras note in JPEG files.
#include "data/files/pictures/exif.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tensor/random.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

int orientation_of(const std::string& file) { return jpeg_orientation(bytes_of(file)); }

}  // namespace

TEST_CASE("exif: the orientation is found in either byte order", "[data]") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CHECK(orientation_of(with_orientation(orientation, true)) == orientation);
    CHECK(orientation_of(with_orientation(orientation, false)) == orientation);
  }
  CHECK(orientation_of(tiny_jpeg()) == 1);
  CHECK(orientation_of(with_orientation(9, true)) == 1);
  CHECK(orientation_of("") == 1);
  CHECK(orientation_of(encode_png(pattern(2, 2, 1))) == 1);
}

TEST_CASE("exif: cut and damaged segments are read as upright", "[data]") {
  const std::string file = with_orientation(6, false);
  for (std::size_t size = 0; size < 70; ++size) {
    const int found = orientation_of(file.substr(0, size));
    CHECK((found == 1 || found == 6));
  }
  const RandomStream stream(5);
  std::uint64_t draw = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string damaged = file;
    for (int k = 0; k < 3; ++k) {
      const auto place = static_cast<std::size_t>(stream.below(60, draw++));
      damaged[place] = static_cast<char>(stream.below(256, draw++));
    }
    const int found = orientation_of(damaged);
    CHECK((found >= 1 && found <= 8));
  }
}

TEST_CASE("exif: pictures are turned as they were seen, if that is asked for", "[data]") {
  // 1 2    Orientation 6: the camera was turned, row 0 is the right-hand side.
  // 3 4
  // 5 6
  const Image image{3, 2, 1, {1, 2, 3, 4, 5, 6}};
  using Bytes = std::vector<std::uint8_t>;
  const std::vector<Bytes> expected = {{1, 2, 3, 4, 5, 6}, {2, 1, 4, 3, 6, 5}, {6, 5, 4, 3, 2, 1},
                                       {5, 6, 3, 4, 1, 2}, {1, 3, 5, 2, 4, 6}, {5, 3, 1, 6, 4, 2},
                                       {6, 4, 2, 5, 3, 1}, {2, 4, 6, 1, 3, 5}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image turned = oriented(image, orientation);
    CHECK(turned.height == (orientation <= 4 ? 3 : 2));
    CHECK(turned.width == (orientation <= 4 ? 2 : 3));
    CHECK(turned.pixels == expected[static_cast<std::size_t>(orientation - 1)]);
  }
  const std::string file = with_orientation(8, true);
  const Image plain = decode_image(bytes_of(file), "file", 3);
  CHECK(plain.pixels == decode_image(bytes_of(tiny_jpeg()), "file", 3).pixels);
  CHECK(decode_image(bytes_of(file), "file", 3, Exif::kApply).pixels == oriented(plain, 8).pixels);
}
