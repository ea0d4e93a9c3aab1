#include "data/augment/geometry.h"

#include <catch2/catch.hpp>

#include <vector>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

// Planes that own their pixels, counted up from 1.
struct Drawn {
  Drawn(std::int64_t c, std::int64_t h, std::int64_t w)
      : values(static_cast<std::size_t>(c * h * w)), planes{c, h, w, values.data()} {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  }
  Drawn(const Drawn&) = delete;
  std::vector<float> values;
  Planes planes;
};

}  // namespace

TEST_CASE("geometry: flips mirror every channel and undo themselves", "[data]") {
  Drawn x(2, 3, 2);
  const auto before = x.values;
  flip_horizontally(x.planes);
  CHECK(x.values == std::vector<float>{2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11});
  flip_horizontally(x.planes);
  CHECK(x.values == before);
  flip_vertically(x.planes);
  CHECK(x.values == std::vector<float>{5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8});
  flip_vertically(x.planes);
  CHECK(x.values == before);
}

TEST_CASE("geometry: a crop keeps the pixels of its box", "[data]") {
  Drawn x(2, 3, 4), part(2, 2, 3);
  crop(x.planes, {1, 1, 2, 3}, part.planes);
  CHECK(part.values == std::vector<float>{6, 7, 8, 10, 11, 12, 18, 19, 20, 22, 23, 24});
  const Image image{2, 3, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const Image right = crop(image, {0, 1, 2, 2});
  CHECK(right.pixels == std::vector<std::uint8_t>{3, 4, 5, 6, 9, 10, 11, 12});
  CHECK((right.height == 2 && right.width == 2 && right.channels == 2));
}

TEST_CASE("geometry: a shift brings in zeros", "[data]") {
  Drawn x(1, 2, 3);
  shift(x.planes, 1, -1);
  CHECK(x.values == std::vector<float>{0, 0, 0, 2, 3, 0});
  shift(x.planes, 0, 9);
  CHECK(x.values == std::vector<float>(6, 0.0f));
}

TEST_CASE("geometry: rotation is counter-clockwise about the centre", "[data]") {
  Drawn x(1, 3, 3);
  rotate(x.planes, 90);
  CHECK(x.values == std::vector<float>{3, 6, 9, 2, 5, 8, 1, 4, 7});
  rotate(x.planes, 270);
  CHECK(x.values == Drawn(1, 3, 3).values);
  rotate(x.planes, 180);
  CHECK(x.values == std::vector<float>{9, 8, 7, 6, 5, 4, 3, 2, 1});
  // The canvas stays; what it has no pixel for is 0.
  Drawn wide(2, 1, 3);
  rotate(wide.planes, 90);
  CHECK(wide.values == std::vector<float>{0, 2, 0, 0, 5, 0});
  rotate(wide.planes, 360);
  CHECK(wide.values == std::vector<float>{0, 2, 0, 0, 5, 0});
}

TEST_CASE("geometry: resampling has half-pixel centres and no antialiasing", "[data]") {
  Drawn x(1, 1, 4);
  Drawn half(1, 1, 2), twice(1, 2, 8);
  resample(x.planes, half.planes, Resampling::kBilinear);
  CHECK(half.values == std::vector<float>{1.5f, 3.5f});
  resample(x.planes, half.planes, Resampling::kNearest);
  CHECK(half.values == std::vector<float>{2, 4});
  resample(x.planes, twice.planes, Resampling::kBilinear);
  const std::vector<float> row = {1, 1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4};
  CHECK(std::vector<float>(twice.values.begin(), twice.values.begin() + 8) == row);
  CHECK(std::vector<float>(twice.values.begin() + 8, twice.values.end()) == row);
  Drawn other(2, 1, 4);
  CHECK_THROWS_AS(resample(x.planes, other.planes, Resampling::kNearest), ShapeError);
}

TEST_CASE("geometry: stretching uses the range of the whole image", "[data]") {
  Drawn x(2, 1, 3);
  stretch(x.planes);
  CHECK(x.values == std::vector<float>{0, 0.2f, 0.4f, 0.6f, 0.8f, 1});
  x.values.assign(6, 0.7f);
  stretch(x.planes);
  CHECK(x.values == std::vector<float>(6, 0.0f));
}
