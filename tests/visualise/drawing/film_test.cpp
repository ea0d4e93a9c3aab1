#include "visualise/drawing/film.h"

#include <zlib.h>
#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using visualise::Canvas;

namespace {

std::uint32_t number(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

// Types of all chunks, whose sums are checked; sequence numbers must count up.
std::vector<std::string> chunks(const std::string& bytes) {
  std::vector<std::string> types;
  std::uint32_t sequence = 0;
  for (std::size_t at = 8; at < bytes.size();) {
    const std::uint32_t size = number(bytes, at);
    types.push_back(bytes.substr(at + 4, 4));
    CHECK(number(bytes, at + 8 + size) ==
          crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + at + 4), size + 4));
    if (types.back() == "fcTL" || types.back() == "fdAT")
      CHECK(number(bytes, at + 8) == sequence++);
    at += 12 + size;
  }
  return types;
}

}  // namespace

TEST_CASE("film: chunks of an animated PNG in order, with sums and numbers", "[visualise]") {
  const visualise::Film film{
      {Canvas(3, 2), Canvas(3, 2, visualise::kInk), Canvas(3, 2, visualise::kGridLine)}};
  const std::string bytes = visualise::to_apng(film);
  CHECK(bytes.substr(0, 8) == visualise::to_png(film.frames[0]).substr(0, 8));
  CHECK(chunks(bytes) == std::vector<std::string>{"IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT",
                                                  "fcTL", "fdAT", "IEND"});
  CHECK(number(bytes, bytes.find("acTL") + 4) == 3);
  // The first picture is that of the file for programs that know no films.
  const std::string png = visualise::to_png(film.frames[0]);
  const std::size_t data = png.find("IDAT");
  CHECK(bytes.find(png.substr(data, number(png, data - 4) + 8)) != std::string::npos);
}

TEST_CASE("film: frames that do not fit are refused", "[visualise]") {
  CHECK_THROWS_AS(visualise::to_apng({}), ShapeError);
  CHECK_THROWS_AS(visualise::to_apng({{Canvas(3, 2), Canvas(2, 2)}}), ShapeError);
  CHECK_THROWS_AS(visualise::to_apng({{Canvas(3, 2)}, 0}), ConfigError);
}
