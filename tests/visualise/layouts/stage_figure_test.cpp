// Figures of decoder stages. gdla section 9, figures 6 to 8.
#include "visualise/layouts/stage_figure.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/visualise/pixels.h"
#include "visualise/drawing/colour_map.h"

using namespace fovea;
using namespace fovea::visualise;
using test::pixels_of;

namespace {

// 2 x 2 tokens of one channel; `update` in their order.
DecoderStage stage_with(std::vector<double> update) {
  return {"de", 2, 2, {4, 1, {1, 2, 3, 4}}, {4, 1, update}, {4, 1, {9, 1, 1, 1}}};
}

StageFigure stages() {
  return {"title",
          Canvas(16, 16),
          {},
          {{"gdla", {stage_with({0, 1, 1, 4}), stage_with({0, 1, 1, 4})}},
           {"la", {stage_with({4, 1, 1, 0}), stage_with({0, 1, 1, 4})}}},
          {1, 2},
          4};
}

}  // namespace

TEST_CASE("stage figure: a column for each map and each difference", "[visualise]") {
  const MapKinds updates{false, true, {}};
  const Canvas without = render_maps(stages(), updates);
  const Canvas with = render_maps(stages(), {false, true, 0});
  CHECK(with.width >= without.width + 16 * 4);
  CHECK(render_maps(stages(), {true, true, 0}).width >= with.width + 2 * 16 * 4);
  // Stage 1 differs by 1 in two corners, towards either network; stage 2 nowhere, so it is white.
  const Colour red{255, 0, 0}, blue{0, 0, 255};
  CHECK(pixels_of(with, red) > pixels_of(without, red));
  const Canvas other = render_maps(stages(), {false, true, 1});
  CHECK(pixels_of(other, red) == pixels_of(with, red));
  CHECK(pixels_of(other, blue) == pixels_of(with, blue));
  CHECK(pixels_of(with, colour_of(ColourMap::kViridis16, 1)) > 0);
}

TEST_CASE("stage figure: the truth stands below the image, or beside it", "[visualise]") {
  StageFigure f = stages();
  f.truth = Canvas(16, 16, Colour{1, 2, 3});
  const MapKinds updates{false, true, {}};
  CHECK(pixels_of(render_maps(f, updates), Colour{1, 2, 3}) == 16 * 16 * 16);
  f.stages = {2};
  CHECK(pixels_of(render_maps(f, updates), Colour{1, 2, 3}) == 16 * 16 * 16);
}

TEST_CASE("stage figure: stages and grids that do not fit are refused", "[visualise]") {
  StageFigure f = stages();
  f.stages = {3};
  CHECK_THROWS_WITH(render_maps(f, {}), Catch::Contains("gdla has stages 1 (the coarsest) to 2"));
  CHECK_THROWS_AS(render_saliency(f), ConfigError);
  f.stages = {1};
  f.networks[1].stages[0].grid_w = 1;
  CHECK_THROWS_WITH(render_maps(f, {}), Catch::Contains("2 x 1 tokens in la, 2 x 2 in gdla"));
}

TEST_CASE("saliency figure: a row for each stage and network", "[visualise]") {
  StageFigure f = stages();
  const Canvas both = render_saliency(f);
  f.stages = {1};
  CHECK(both.height > render_saliency(f).height + 2 * 16 * 4);
  CHECK(title_of(f.networks[0].stages[0], 1) == "S1 de, 2 × 2");
}

TEST_CASE("strip: equal widths, and where values outnumber pixels the largest", "[visualise]") {
  const Canvas three = strip_of({0, 1, 2}, 300, 5);
  CHECK(three.width == 300);
  CHECK(three.height == 5);
  CHECK(three.at(99, 4) == colour_of(ColourMap::kViridis16, 0));
  CHECK(three.at(100, 0) == colour_of(ColourMap::kViridis16, 0.5));
  std::vector<double> many(3136, 0.0);
  many[0] = 1;
  const Canvas strip = strip_of(many, 784, 2);
  CHECK(strip.width == 784);
  CHECK(strip.at(0, 0) == colour_of(ColourMap::kViridis16, 1));
  CHECK(strip.at(1, 0) == colour_of(ColourMap::kViridis16, 0));
}
