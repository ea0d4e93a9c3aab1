#include "data/files/pictures/image_file.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tensor/random.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

Image decode(const std::string& file, std::int64_t channels = 0) {
  return decode_image(bytes_of(file), "file", channels);
}

}  // namespace

TEST_CASE("png: what is written is read back, for every number of channels", "[data]") {
  const auto channels = GENERATE(1, 2, 3, 4);
  const Image image = pattern(5, 7, channels);
  const Image back = decode(encode_png(image));
  CHECK(back.height == 5);
  CHECK(back.width == 7);
  CHECK(back.channels == channels);
  CHECK(back.pixels == image.pixels);
}

TEST_CASE("write_png: the file on disk is the encoded image", "[data]") {
  const Folder folder;
  const Image image = pattern(3, 4, 3);
  write_png(folder.path / "a.png", image);
  CHECK(read_image(folder.path / "a.png").pixels == image.pixels);
  CHECK_THROWS_AS(encode_png({3, 4, 3, {1, 2}}), ShapeError);
  CHECK_THROWS_AS(write_png(folder.path / "none" / "a.png", image), FileError);
}

TEST_CASE("bmp and pnm: pixels and their order", "[data]") {
  const Image colour = pattern(5, 7, 3);
  CHECK(decode(bmp(colour)).pixels == colour.pixels);
  CHECK(decode(ppm(colour)).pixels == colour.pixels);
  const Image grey = pattern(4, 3, 1);
  CHECK(decode(ppm(grey)).pixels == grey.pixels);
  CHECK(decode("P5 2 1 3\n\x01\x03").pixels == std::vector<std::uint8_t>{85, 255});
}

TEST_CASE("images of 16 bits keep their values", "[data]") {
  const Image pnm = decode(std::string("P5 2 1 65535\n\xff\xff\x80\x01", 17));
  CHECK(pnm.pixels.empty());
  CHECK(pnm.deep == std::vector<std::uint16_t>{65535, 32769});
  // Twelve bits of range are stretched to sixteen.
  CHECK(decode(std::string("P5 2 1 4095\n\x0f\xff\x00\x01", 16)).deep ==
        std::vector<std::uint16_t>{65535, 16});
  const std::string file = png16(1, 4, {0, 1, 4095, 65535});
  CHECK(decode(file).deep == std::vector<std::uint16_t>{0, 1, 4095, 65535});
  CHECK(decode(file, 3).deep[6] == 4095);
  CHECK(decode(file, 3).bytes() == 24);
  // Red, green, blue of 16 bits to grey.
  const std::string colour = png(1, 1, 16, 2, {std::string("\x00\x00\xff\xff\x00\x00", 6)});
  CHECK(decode(colour, 1).deep == std::vector<std::uint16_t>{38469});
  // 16 bits are written as well, of any number of channels.
  CHECK(decode(encode_png(decode(file))).deep == decode(file).deep);
  const Image two{2, 1, 2, {}, {1, 65535, 300, 7}};
  CHECK(decode(encode_png({1, 1, 3, {}, {1, 256, 65535}})).deep ==
        std::vector<std::uint16_t>{1, 256, 65535});
  CHECK(decode(encode_png(two), 3).deep[3] == 300);
  CHECK_THROWS_AS(encode_png({2, 2, 1, {}, {1, 2, 3}}), ShapeError);
}

TEST_CASE("mask files: values as they were stored, or the greys of their colours", "[data]") {
  const Folder folder;
  const auto values = [&](const std::string& file, MaskPixels pixels) {
    return read_mask_file(folder.write("mask.png", file), pixels).image.pixels;
  };
  using Bytes = std::vector<std::uint8_t>;
  const std::string colours("\x00\x00\x00\x80\x00\x00\xff\xff\x00\xff\xff\xff", 12);
  // Packed 8, 4, 2 and 1 bits of a pixel; stb knows only the colours.
  CHECK(values(png(1, 4, 8, 3, {std::string("\0\1\2\3", 4)}, colours), MaskPixels::kStored) ==
        Bytes{0, 1, 2, 3});
  CHECK(values(png(1, 4, 4, 3, {"\x01\x23"}, colours), MaskPixels::kStored) == Bytes{0, 1, 2, 3});
  CHECK(values(png(1, 4, 2, 3, {"\x1b"}, colours), MaskPixels::kStored) == Bytes{0, 1, 2, 3});
  CHECK(values(png(1, 4, 1, 3, {"\x50"}, colours), MaskPixels::kStored) == Bytes{0, 1, 0, 1});
  CHECK(values(png(1, 4, 2, 3, {"\x1b"}, colours), MaskPixels::kGrey) == Bytes{0, 38, 226, 255});
  // A palette of greys, here white first, stands for the greys.
  const std::string greys("\xff\xff\xff\x00\x00\x00", 6);
  CHECK(values(png(1, 4, 1, 3, {"\x50"}, greys), MaskPixels::kStored) == Bytes{255, 0, 255, 0});
  const auto jpeg = folder.write("mask.jpg", tiny_jpeg());
  CHECK(read_mask_file(jpeg, MaskPixels::kStored).lossy);
  CHECK_FALSE(read_mask_file(folder.path / "mask.png", MaskPixels::kStored).lossy);
  // A damaged one is still no more than a FileError.
  const std::string whole = png(1, 4, 2, 3, {"\x1b"}, colours);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_THROWS_AS(values(whole.substr(0, size), MaskPixels::kStored), FileError);
  }
}

TEST_CASE("jpeg: the test picture is decoded", "[data]") {
  const Image image = decode(tiny_jpeg(), 3);
  CHECK(image.height == kTinyJpegHeight);
  CHECK(image.width == kTinyJpegWidth);
  // Left half red, right half blue; JPEG is lossy.
  const std::uint8_t* left = image.pixels.data();
  const std::uint8_t* right = image.pixels.data() + (image.width - 1) * 3;
  CHECK(left[0] > 200);
  CHECK(left[2] < 60);
  CHECK(right[0] < 60);
  CHECK(right[2] > 200);
}

TEST_CASE("channels: grey is repeated, colour is weighted, alpha is dropped", "[data]") {
  const Image grey = pattern(2, 2, 1);
  const Image three = decode(encode_png(grey), 3);
  REQUIRE(three.channels == 3);
  for (std::size_t i = 0; i < 12; ++i) CHECK(three.pixels[i] == grey.pixels[i / 3]);
  const Image rgba{1, 1, 4, {255, 255, 255, 0}};
  CHECK(decode(encode_png(rgba), 3).pixels == std::vector<std::uint8_t>{255, 255, 255});
  CHECK(int{decode(encode_png(rgba), 1).pixels[0]} == 255);
  CHECK(int{decode(encode_png({1, 1, 3, {0, 255, 0}}), 1).pixels[0]} == 150);
  CHECK(int{decode(encode_png({1, 1, 2, {90, 7}}), 3).pixels[2]} == 90);
}

TEST_CASE("images: every cut of a file is refused", "[data]") {
  const Image image = pattern(9, 8, 3);
  for (const std::string& file : {encode_png(image), bmp(image), ppm(image), tiny_jpeg()}) {
    for (std::size_t size = 0; size < file.size(); ++size) {
      INFO("first " << size << " of " << file.size() << " bytes, starting with "
                    << file.substr(0, 2));
      CHECK_THROWS_AS(decode(file.substr(0, size)), FileError);
    }
    CHECK_NOTHROW(decode(file));
  }
}

TEST_CASE("images: flipped bits never do worse than a FileError", "[data]") {
  const Image image = pattern(9, 8, 3);
  const RandomStream stream(17);
  std::uint64_t draw = 0;
  for (const std::string& file : {encode_png(image), bmp(image), ppm(image), tiny_jpeg()}) {
    for (int trial = 0; trial < 400; ++trial) {
      std::string damaged = file;
      for (int flips = 0; flips < 3; ++flips) {
        const auto at = stream.below(static_cast<std::int64_t>(file.size()), draw++);
        damaged[static_cast<std::size_t>(at)] ^= static_cast<char>(1 << stream.below(8, draw++));
      }
      try {
        const Image result = decode(damaged);
        CHECK(result.bytes() == result.height * result.width * result.channels);
      } catch (const FileError&) {
      }
    }
  }
}

TEST_CASE("png: a flipped bit in the pixels fails the checksum", "[data]") {
  std::string file = encode_png(pattern(9, 8, 3));
  file[60] = static_cast<char>(file[60] ^ 4);
  CHECK_THROWS_WITH(decode(file), Catch::Contains("fails its checksum"));
}

TEST_CASE("jpeg: Huffman tables with too many or too long codes are refused", "[data]") {
  std::string file = tiny_jpeg();
  const std::size_t table = file.find("\xff\xc4");
  REQUIRE(table != std::string::npos);
  file[table + 4 + 1 + 15] = '\xff';  // 255 codes of 16 bits, more than the segment holds
  CHECK_THROWS_WITH(decode(file), Catch::Contains("Huffman table"));
  std::string many = std::string("\xff\xc4\x01\x53\x00", 5) + std::string(14, '\0') + "\xa0\xa0";
  many += std::string(320, '\x01');  // 2 x 160 codes inside a segment of the right length
  file = tiny_jpeg();
  file.insert(2, many);
  CHECK_THROWS_WITH(decode(file), Catch::Contains("Huffman table"));
  file = tiny_jpeg();
  file[table + 4 + 17] = '\x20';  // a DC code of 32 bits
  CHECK_THROWS_WITH(decode(file), Catch::Contains("Huffman table"));
}

TEST_CASE("images: declared sizes cannot exhaust memory", "[data]") {
  std::string huge = bmp(pattern(2, 2, 3));
  huge[20] = '\x7f';  // width above 2^22
  CHECK_THROWS_AS(decode(huge), FileError);
  CHECK_THROWS_WITH(decode("P6 100000 100000 255\n"), Catch::Contains("at most 67108864"));
  CHECK_THROWS_WITH(decode("P5 8000 8000 255\nabc"), Catch::Contains("in a file of"));
  CHECK_THROWS_WITH(decode("P5 0 4 255\nabc"), Catch::Contains("declares 4 x 0"));
  CHECK_THROWS_AS(decode("P5 99999999999999999999 1 255\n"), FileError);
}

TEST_CASE("png: pixels that inflate far beyond the declared size are refused", "[data]") {
  // A 1 x 1 header in front of the data of a large black picture.
  std::string file = encode_png(Image{2000, 4000, 3, std::vector<std::uint8_t>(24000000, 0)});
  REQUIRE(file.size() > (1u << 15));
  const std::string size("\0\0\0\x01\0\0\0\x01", 8);
  file.replace(16, 8, size);
  const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(file.data() + 12), 17);
  for (int k = 0; k < 4; ++k) {
    file[static_cast<std::size_t>(29 + k)] = static_cast<char>(crc >> (24 - 8 * k) & 0xffu);
  }
  CHECK_THROWS_WITH(decode(file), Catch::Contains("inflates to more"));
}

TEST_CASE("images: other files and folders are named", "[data]") {
  const Folder folder;
  const auto path = folder.write("notes.png", "this is no picture");
  CHECK_THROWS_WITH(read_image(path),
                    Catch::Contains("notes.png: is not a PNG, JPEG, TIFF, WebP, BMP"));
  CHECK_THROWS_WITH(read_image(folder.write("e.png", "")), Catch::Contains("is empty"));
  CHECK_THROWS_WITH(read_image(folder.path / "none.png"), Catch::Contains("not found"));
  CHECK_THROWS_WITH(read_image(folder.path), Catch::Contains("is a folder"));
  CHECK(has_image_extension("a/B.JPEG"));
  CHECK_FALSE(has_image_extension("a/Thumbs.db"));
  CHECK_FALSE(has_image_extension("png"));
}
