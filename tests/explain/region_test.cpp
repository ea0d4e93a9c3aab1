// The pixels that --region means.
#include <catch2/catch.hpp>

#include <vector>

#include "base/error.h"
#include "data/files/pictures/image_file.h"
#include "explain/region.h"
#include "tests/support/run_cli.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::explain;
using namespace fovea::test;

namespace {

std::vector<std::uint8_t> pixels_of(const std::string& region, const GridSize& size) {
  const Tensor found = region_of(region, size, cpu());
  const auto values = found.values<std::uint8_t>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("region: a pixel, a box, of volumes too", "[explain]") {
  CHECK(pixels_of("1,2", {2, 3}) == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1});
  CHECK(pixels_of("0,1,1,2", {2, 3}) == std::vector<std::uint8_t>{0, 1, 1, 0, 1, 1});
  CHECK(region_of("1,0,1", {2, 2, 2}, cpu()).shape() == Shape{1, 2, 2, 2});
  CHECK(pixels_of("1,0,1", {2, 2, 2}) == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1, 0, 0});
  CHECK(pixels_of("0,1,0,1,1,0", {2, 2, 2}) == std::vector<std::uint8_t>{0, 0, 1, 0, 0, 0, 1, 0});
}

TEST_CASE("region: a picture of the image's size", "[explain]") {
  const TestFolder folder("region");
  const auto file = [&](const char* name, std::vector<std::uint8_t> pixels) {
    data::write_png(folder.path(name), {2, 3, 1, std::move(pixels)});
    return folder.path(name).string();
  };
  const std::string mask = file("mask.png", {0, 255, 0, 0, 0, 7});
  CHECK(pixels_of(mask, {2, 3}) == std::vector<std::uint8_t>{0, 1, 0, 0, 0, 1});
  CHECK_THROWS_WITH(pixels_of(mask, {4, 3}), Catch::Contains("is 2 x 3, the network sees 4 x 3"));
  CHECK_THROWS_WITH(pixels_of(mask, {2, 3, 2}), Catch::Contains("SLICE,ROW,COLUMN"));
  CHECK_THROWS_WITH(pixels_of(file("black.png", {0, 0, 0, 0, 0, 0}), {2, 3}),
                    Catch::Contains("all black"));
  CHECK_THROWS_AS(pixels_of(folder.path("none.png").string(), {2, 3}), FileError);
}

TEST_CASE("region: what is no pixel is refused", "[explain]") {
  CHECK_THROWS_WITH(pixels_of("2,0", {2, 3}), Catch::Contains("outside the 2 x 3 pixels"));
  CHECK_THROWS_WITH(pixels_of("1,1,0,1", {2, 3}), Catch::Contains("ends before"));
  CHECK_THROWS_WITH(pixels_of("1,1,1", {2, 3}), Catch::Contains("3 numbers; expected ROW,COLUMN"));
  CHECK_THROWS_WITH(pixels_of("1,1", {2, 3, 4}), Catch::Contains("expected SLICE,ROW,COLUMN"));
}
