// JPEG files: the pixels that Pillow gives, for every way in which such files store them.
#include "data/files/pictures/jpeg_file.h"

#include <catch2/catch.hpp>

#include <cstdlib>

#include "base/error.h"
#include "tensor/safetensors.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

TensorFile jpeg_fixture() {
  const Device host(DeviceType::kCpu, heap_memory(), nullptr);
  return read_safetensors(fovea::test::source_dir() + "/tests/fixtures/pillow/jpeg.safetensors",
                          host);
}

std::string content_of(const Tensor& bytes) {
  const auto values = bytes.values<std::uint8_t>();
  return {values.begin(), values.end()};
}

int largest_difference(const Image& image, const Tensor& expected) {
  const auto want = expected.values<std::uint8_t>();
  REQUIRE(image.pixels.size() == want.size());
  int largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    largest = std::max(largest, std::abs(int{image.pixels[i]} - int{want[i]}));
  return largest;
}

bool without_libjpeg() {
  if (!libjpeg_version().empty()) return false;
  WARN("built without libjpeg-turbo: pixels are stb_image's");
  return true;
}

}  // namespace

TEST_CASE("jpeg: pixels are Pillow's", "[data][fixture]") {
  if (without_libjpeg()) return;
  const TensorFile file = jpeg_fixture();
  int pictures = 0;
  for (const auto& [key, value] : file.tensors) {
    if (!key.ends_with(".file")) continue;
    const std::string name = key.substr(0, key.size() - 5);
    INFO(name);
    const std::string content = content_of(value);
    const Tensor &rgb = file.tensors.at(name + ".rgb"), &grey = file.tensors.at(name + ".grey");
    const Image colours = decode_image(bytes_of(content), name, 3);
    CHECK(colours.height == rgb.size(0));
    CHECK(colours.width == rgb.size(1));
    CHECK(largest_difference(colours, rgb) == 0);
    CHECK(largest_difference(decode_image(bytes_of(content), name, 1), grey) == 0);
    const Image own = decode_image(bytes_of(content), name);
    CHECK(own.channels == (name.starts_with("grey") ? 1 : 3));
    ++pictures;
  }
  CHECK(pictures == 22);
}

TEST_CASE("jpeg: a program says what decodes them", "[data]") {
  CHECK((libjpeg_version().empty() || libjpeg_version().starts_with("libjpeg-turbo ")));
  CHECK(jpeg_decoder() == (libjpeg_version().empty() ? "stb_image" : libjpeg_version()));
}

TEST_CASE("jpeg: damage is decided as in Pillow", "[data]") {
  if (without_libjpeg()) return;
  const TensorFile fixture = jpeg_fixture();
  for (const char* name : {"rgb_420", "rgb_420_progressive", "cmyk", "made_arith", "made_scans"}) {
    const std::string file = content_of(fixture.tensors.at(std::string(name) + ".file"));
    for (std::size_t size = 0; size < file.size(); ++size) {
      INFO(name << ", first " << size << " of " << file.size() << " bytes");
      CHECK_THROWS_AS(decode_image(bytes_of(file.substr(0, size)), "file"), FileError);
    }
  }
  // A scan that runs into the end-of-image marker is filled up, with no more than a warning of
  // libjpeg's.
  const std::string file = content_of(fixture.tensors.at("rgb_444.file"));
  const std::string short_scan = file.substr(0, file.size() - 150) + "\xff\xd9";
  CHECK(decode_image(bytes_of(short_scan), "file").height == 13);
  // Without it the file is cut short, whatever looks like such a marker.
  CHECK_THROWS_WITH(decode_image(bytes_of(file.substr(0, file.size() - 150)), "file"),
                    Catch::Contains("cut short"));
}

TEST_CASE("jpeg: components and bits that Pillow refuses are refused", "[data]") {
  if (without_libjpeg()) return;
  std::string file = content_of(jpeg_fixture().tensors.at("grey.file"));
  const std::size_t frame = file.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  file[frame + 4] = 12;
  CHECK_THROWS_WITH(decode_image(bytes_of(file), "a.jpg"), Catch::StartsWith("a.jpg: "));
  // A header alone that declares a picture of 65500 x 65500 allocates nothing.
  file = content_of(jpeg_fixture().tensors.at("grey_progressive.file"));
  const std::size_t progressive = file.find("\xff\xc2");
  REQUIRE(progressive != std::string::npos);
  for (std::size_t k = 5; k < 9; ++k) file[progressive + k] = '\xff';
  file[progressive + 6] = file[progressive + 8] = '\xdc';
  CHECK_THROWS_WITH(decode_image(bytes_of(file), "a.jpg"), Catch::Contains("at most 67108864"));
}
