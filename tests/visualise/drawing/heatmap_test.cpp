#include "visualise/drawing/heatmap.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

TEST_CASE("upsample_bilinear: half-pixel centres, clamped at the border", "[visualise]") {
  const Matrix up = upsample_bilinear({1, 2, {0, 1}}, 2, 4);
  const std::vector<double> row = {0, 0.25, 0.75, 1};
  REQUIRE(up.rows == 2);
  REQUIRE(up.cols == 4);
  for (std::int64_t y = 0; y < 2; ++y) {
    for (std::int64_t x = 0; x < 4; ++x) {
      CHECK(up.at(y, x) == Approx(row[static_cast<std::size_t>(x)]).margin(1e-15));
    }
  }
  const Matrix grid{2, 3, {1, 2, 3, 4, 5, 7}};
  CHECK(upsample_bilinear(grid, 2, 3).values == grid.values);  // the same size changes nothing
  const Matrix tall = upsample_bilinear({2, 1, {0, 1}}, 4, 1);
  CHECK(tall.at(1, 0) == Approx(0.25));
}

TEST_CASE("heat_map: a block for each patch, or smooth between them", "[visualise]") {
  const Matrix grid{1, 2, {0, 1}};
  const Matrix blocks = heat_map(grid, 2, 4, false);
  CHECK(blocks.rows == 2);
  CHECK(blocks.values == std::vector<double>{0, 0, 1, 1, 0, 0, 1, 1});
  CHECK(heat_map(grid, 2, 4, true).values == upsample_bilinear(grid, 2, 4).values);
  CHECK(heat_map(grid, 1, 5, false).values == std::vector<double>{0, 0, 0, 1, 1});
  CHECK_THROWS_AS(heat_map(grid, 0, 4, false), ShapeError);
}

TEST_CASE("scaling: min-max, symmetric, shared ends and flat maps", "[visualise]") {
  const Matrix m{1, 3, {-1, 0, 3}};
  CHECK(scale_minmax(m).values == std::vector<double>{0, 0.25, 1});
  const Matrix symmetric = scale_symmetric(m);
  CHECK(symmetric.values[0] == Approx(1.0 / 3));
  CHECK(symmetric.values[1] == 0.5);
  CHECK(symmetric.values[2] == 1);
  CHECK(scale_between(m, 0, 2).values == std::vector<double>{0, 0, 1});
  CHECK(std::isnan(scale_between({1, 2, {NAN, 1}}, -1, 1).values[0]));
  CHECK(scale_between({1, 2, {0, 1e-13}}, -1e-13, 1e-13).values == std::vector<double>{0.5, 1});
  CHECK_THROWS_AS(scale_between(m, 1, 1), ConfigError);
  const Matrix flat{1, 2, {0.3, 0.3 + 1e-13}};
  CHECK(scale_minmax(flat).values == std::vector<double>{0, 0});
  CHECK(scale_symmetric({1, 2, {0, 0}}).values == std::vector<double>{0.5, 0.5});
  CHECK(std::isnan(scale_minmax({1, 3, {NAN, 1, 2}}).values[0]));
  CHECK(scale_minmax({1, 3, {NAN, 1, 2}}).values[2] == 1);
}

TEST_CASE("colour_of: anchors, interpolation with rounding, clamping", "[visualise]") {
  CHECK(colour_of(ColourMap::kPlasma, 0) == Colour{0x0d, 0x08, 0x87});
  CHECK(colour_of(ColourMap::kPlasma, 1) == Colour{0xf0, 0xf9, 0x21});
  CHECK(colour_of(ColourMap::kViridis, 3.0 / 9) == Colour{0x31, 0x68, 0x8e});
  CHECK(colour_of(ColourMap::kCividis, 6.0 / 9) == Colour{0xa5, 0x9c, 0x74});
  // halfway between 0d0887 and 46039f: 41.5, 5.5, 147 round to 42, 6, 147
  CHECK(colour_of(ColourMap::kPlasma, 0.5 / 9) == Colour{42, 6, 147});
  CHECK(colour_of(ColourMap::kPlasma, -3) == colour_of(ColourMap::kPlasma, 0));
  CHECK(colour_of(ColourMap::kViridis, 7) == colour_of(ColourMap::kViridis, 1));
  CHECK(colour_of(ColourMap::kViridis, NAN) == kMissing);
  CHECK(colour_of(ColourMap::kDiverging, 0.5) == Colour{0xf7, 0xf7, 0xf7});
  CHECK(anchors_of(ColourMap::kViridis16).size() == 16);
  CHECK(colour_of(ColourMap::kViridis16, 5.0 / 15) == colour_of(ColourMap::kViridis, 3.0 / 9));
  // gdla section 9: (1, 1 - v, 1 - v) for v >= 0, (1 + v, 1 + v, 1) below.
  CHECK(colour_of(ColourMap::kBlueRed, 0.5) == kWhite);
  CHECK(colour_of(ColourMap::kBlueRed, (1 + 0.4) / 2) == Colour{255, 153, 153});
  CHECK(colour_of(ColourMap::kBlueRed, (1 - 0.8) / 2) == Colour{51, 51, 255});
  for (const auto* name : {"inferno", "plasma", "viridis", "viridis16", "cividis", "diverging",
                           "bwr", "reds", "blues", "grey"}) {
    CHECK(name_of(colour_map_from_name(name)) == name);
  }
  CHECK_THROWS_WITH(colour_map_from_name("plasm"), Catch::Contains("did you mean \"plasma\""));
}

TEST_CASE("inferno: the published colours, ever lighter by even steps", "[visualise]") {
  // Of matplotlib's table, entries 0, 64, 128, 192 and 255.
  const std::pair<double, Colour> published[] = {{0, {0, 0, 4}},
                                                 {64.0 / 255, {87, 16, 110}},
                                                 {128.0 / 255, {188, 55, 84}},
                                                 {192.0 / 255, {249, 142, 9}},
                                                 {1, {252, 255, 164}}};
  for (const auto& [t, expected] : published) {
    const Colour found = colour_of(ColourMap::kInferno, t);
    INFO(t);
    CHECK(std::abs(found.r - expected.r) <= 1);
    CHECK(std::abs(found.g - expected.g) <= 1);
    CHECK(std::abs(found.b - expected.b) <= 1);
  }
  // CIE lightness of sRGB.
  const auto lightness = [](Colour c) {
    const auto linear = [](int v) {
      const double s = v / 255.0;
      return s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
    };
    const double y = 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
    return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
  };
  for (int i = 0; i < 16; ++i) {
    const double step = lightness(colour_of(ColourMap::kInferno, (i + 1) / 16.0)) -
                        lightness(colour_of(ColourMap::kInferno, i / 16.0));
    INFO(i);
    CHECK(step > 3);  // 98 / 16 is 6.1
    CHECK(step < 9);
  }
}

TEST_CASE("colours: a sign has one colour, with and without the other", "[visualise]") {
  for (const double t : {0.0, 0.3, 0.77, 1.0})
    CHECK(colour_of(ColourMap::kReds, t) == colour_of(ColourMap::kDiverging, 0.5 + t / 2));
  const auto anchors = anchors_of(ColourMap::kDiverging);
  REQUIRE(anchors.size() % 2 == 1);
  const Colour zero = anchors[anchors.size() / 2];
  CHECK(zero.r == zero.g);
  CHECK(zero.g == zero.b);
  CHECK(zero.r > 240);
  // Blue and red differ for every kind of eye; both darken away from 0.
  CHECK(anchors.front().b > anchors.front().r);
  CHECK(anchors.back().r > anchors.back().b);
  for (std::size_t i = 1; i < anchors.size(); ++i) {
    const bool below = i <= anchors.size() / 2;
    CHECK((below ? anchors[i].g > anchors[i - 1].g : anchors[i].g < anchors[i - 1].g));
  }
}

TEST_CASE("enlarge: every pixel becomes a block", "[visualise]") {
  Canvas small(2, 1);
  small.set(0, 0, {1, 2, 3});
  small.set(1, 0, {4, 5, 6});
  const Canvas big = enlarge(small, 3);
  REQUIRE(big.width == 6);
  REQUIRE(big.height == 3);
  for (std::int64_t y = 0; y < 3; ++y) {
    for (std::int64_t x = 0; x < 6; ++x) CHECK(big.at(x, y) == small.at(x / 3, 0));
  }
  CHECK_THROWS_AS(enlarge(small, 0), ConfigError);
}

TEST_CASE("overlay: weights of map and image", "[visualise]") {
  const Canvas map(1, 1, {200, 0, 101}), image(1, 1, {100, 255, 100});
  CHECK(overlay(map, image, 0).at(0, 0) == Colour{200, 0, 101});
  CHECK(overlay(map, image, 0.25).at(0, 0) == Colour{175, 64, 101});  // 63.75 and 100.75
  CHECK(overlay(map, image, 1).at(0, 0) == Colour{100, 255, 100});
  CHECK_THROWS_AS(overlay(map, Canvas(2, 1), 0.5), ShapeError);
  CHECK_THROWS_AS(overlay(map, image, 1.5), ConfigError);
}

TEST_CASE("patch_grid: refuses images that are not square or not divisible", "[visualise]") {
  const std::vector<double> weights = {1, 2, 3, 4};
  CHECK(patch_grid(weights, 8, 8, 4).at(1, 0) == 3);
  CHECK_THROWS_AS(patch_grid(weights, 8, 4, 4), ShapeError);
  CHECK_THROWS_AS(patch_grid(weights, 9, 9, 4), ShapeError);
  CHECK_THROWS_AS(patch_grid(weights, 12, 12, 4), ShapeError);
  CHECK(as_grid(weights, 1, 4).at(0, 3) == 4);
}

// Values of torch.nn.functional.interpolate(mode="bilinear") in float64, PyTorch 2.15 for x86.
TEST_CASE("upsample_bilinear: to the last bit as PyTorch's kernel", "[visualise]") {
  const Matrix grid{3, 2, {0.1, 0.7, -1.3, 0.2, 2.5, 0.3}};
  const std::vector<double> expected = {0.1,
                                        0.3999999999999999,
                                        0.7,
                                        -0.775,
                                        -0.19375000000000003,
                                        0.38749999999999996,
                                        0.125,
                                        0.18125,
                                        0.23750000000000002,
                                        2.5,
                                        1.4000000000000001,
                                        0.29999999999999993};
  CHECK(upsample_bilinear(grid, 4, 3).values == expected);
}
