#include "visualise/layouts/rollout_figure.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <map>
#include <tuple>

#include "base/error.h"
#include "visualise/maps/attention_maps.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

std::int64_t count(const Canvas& canvas, Colour colour) {
  std::int64_t found = 0;
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) found += canvas.at(x, y) == colour ? 1 : 0;
  }
  return found;
}

constexpr Colour kInput{1, 2, 3};

// One image of 8 x 8 as 2 x 2 patches.
RolloutFigure figure(std::vector<double> weights, bool is_signed) {
  RolloutFigure f;
  f.title = "attention rollout";
  f.names = {"0: cat"};
  f.inputs = {Canvas(8, 8, kInput)};
  f.factor = 16;
  f.columns = {
      {{"net", {is_signed, is_signed ? "signed rollout" : "share"}, {std::move(weights)}}, 2, 2}};
  return f;
}

// Pixels of a block of one patch.
constexpr std::int64_t kBlock = 64 * 64;

}  // namespace

TEST_CASE("rollout figure: zero is light, signs have their colours, patches are blocks",
          "[visualise]") {
  const Canvas canvas = render(figure({-0.5, 0, 0.25, 0.5}, true));
  for (const double t : {0.0, 0.5, 0.75, 1.0})
    CHECK(count(canvas, colour_of(ColourMap::kDiverging, t)) >= kBlock);
  CHECK(count(canvas, kInput) == 128 * 128);
  // With one sign only, and so darkest at its strongest: not blue.
  const Canvas positive = render(figure({0.125, 0.25, 0.5, 0.5}, true));
  CHECK(count(positive, colour_of(ColourMap::kDiverging, 0.625)) >= kBlock);
  CHECK(count(positive, colour_of(ColourMap::kDiverging, 0)) < kBlock);
  RolloutFigure from_zero = figure({0, 0.125, 0.25, 0.5}, false);
  from_zero.scale.ends = HeatEnds::kFromZero;
  const Canvas share = render(from_zero);
  for (const double t : {0.0, 0.25, 0.5, 1.0}) CHECK(count(share, colour_of(kHeat, t)) >= kBlock);
}

TEST_CASE("rollout figure: a map without a peak has all colours", "[visualise]") {
  // Of 100 patches from 0.0100 to 0.0102 the first and last are beyond the percentiles.
  RolloutFigure f = figure({}, false);
  std::vector<double> weights;
  for (int i = 0; i < 100; ++i) weights.push_back(0.01 + 2e-6 * i);
  f.inputs = {Canvas(10, 10, kInput)};
  f.columns[0].heat.values = {weights};
  f.columns[0].heat.even = 0.01;
  f.columns[0].grid_h = f.columns[0].grid_w = 10;
  const Canvas canvas = render(f);
  std::map<int, int> tones;  // of green, which rises all the way
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) ++tones[canvas.at(x, y).g];
  }
  CHECK(count(canvas, colour_of(kHeat, 0)) >= 16 * 16);
  CHECK(count(canvas, colour_of(kHeat, 1)) >= 16 * 16);
  CHECK(tones.size() > 60);
  // Each picture with limits of its own says them.
  f.inputs.push_back(f.inputs[0]);
  f.names.push_back("1: dog");
  f.columns[0].heat.values.push_back(weights);
  const Canvas common = render(f);
  f.scale.sharing = HeatSharing::kImage;
  CHECK(render(f).height > common.height + 20);
}

TEST_CASE("rollout figure: signed maps from least to largest on request", "[visualise]") {
  RolloutFigure f = figure({-0.1, 0, 0.1, 0.3}, true);
  f.scale.ends = HeatEnds::kMinMax;
  f.sequential = ColourMap::kPlasma;
  const Canvas canvas = render(f);
  for (const double t : {0.0, 0.25, 0.5, 1.0})
    CHECK(count(canvas, colour_of(ColourMap::kPlasma, t)) >= kBlock);
}

TEST_CASE("rollout figure: smooth by option", "[visualise]") {
  RolloutFigure f = figure({0, 0, 0, 0.4}, false);
  const Canvas blocks = render(f);
  f.smooth = true;
  const Canvas smooth = render(f);
  CHECK(count(blocks, colour_of(kHeat, 1)) >= kBlock);
  const std::int64_t strongest = count(smooth, colour_of(kHeat, 1));
  CHECK(strongest < kBlock);
  CHECK(strongest >= 16 * 16);  // the strongest pixel has the end of the colours
}

TEST_CASE("rollout figure: panels of one figure are comparable", "[visualise]") {
  RolloutFigure f = figure({-0.5, 0, 0.25, 0.5}, true);
  f.columns.push_back(f.columns[0]);
  f.columns[1].heat.name = "other";
  f.columns[1].heat.values = {{0.125, 0.125, 0.25, 0.25}};
  f.scale.sharing = HeatSharing::kFigure;
  const Canvas canvas = render(f);
  // 0.25 is the same colour in both.
  CHECK(count(canvas, colour_of(ColourMap::kDiverging, 0.75)) >= 3 * kBlock);
}

TEST_CASE("rollout figure: any shape and any values give a picture", "[visualise]") {
  for (const bool is_signed : {false, true}) {
    for (const double value : {0.0, 0.25, -0.25, static_cast<double>(NAN)}) {
      const Canvas canvas = render(figure({value, value, value, value}, is_signed));
      CHECK(canvas.width > 0);
      if (std::isnan(value)) CHECK(count(canvas, kMissing) >= 4 * kBlock);
      if (value == 0) {
        const Colour nothing =
            is_signed ? colour_of(ColourMap::kDiverging, 0.5) : colour_of(kHeat, 0);
        CHECK(count(canvas, nothing) >= 4 * kBlock);
      }
      if (value == 0.25 && !is_signed) CHECK(count(canvas, colour_of(kHeat, 0.5)) >= 4 * kBlock);
    }
  }
  // One row of patches in a wide image, one column in a narrow one that is not enlarged.
  for (const auto& [h, w, gh, gw] : {std::tuple{4, 400, 1, 4}, std::tuple{4, 2, 4, 1}}) {
    RolloutFigure f = figure({-1, 0, 1, 2}, true);
    f.inputs = {Canvas(w, h, kInput)};
    f.columns[0].grid_h = gh;
    f.columns[0].grid_w = gw;
    f.factor = 1;
    const Canvas canvas = render(f);
    CHECK(count(canvas, kInput) == h * w);
    CHECK(count(canvas, colour_of(ColourMap::kDiverging, 1)) >= h * w / 4);
  }
}

TEST_CASE("rollout figure: refuses what does not fit", "[visualise]") {
  RolloutFigure f = figure({0, 0, 0}, true);
  CHECK_THROWS_AS(render(f), ShapeError);
  f = figure({0, 0, 0, 0}, true);
  f.names.clear();
  CHECK_THROWS_AS(render(f), ShapeError);
  f = figure({0, 0, 0, 0}, true);
  f.scale.ends = HeatEnds::kEvenShare;
  CHECK_THROWS_AS(render(f), ConfigError);
}

TEST_CASE("head grid: heads of a layer share their colours", "[visualise]") {
  Observation seen;
  seen.grid_h = seen.grid_w = 1;
  seen.prefix_tokens = 1;
  // Two heads of two tokens: what the class token reads of the patch is 0.25 and -0.5.
  seen.layers = {{2, 2, {0.75, 0.25, 0, 1, 0.5, -0.5, 0, 1}}};
  const Canvas canvas =
      head_grid(seen, true, Canvas(8, 8, kInput), "net", {.ends = HeatEnds::kFromZero});
  CHECK(count(canvas, colour_of(ColourMap::kDiverging, 0.75)) >= 64 * 64);
  CHECK(count(canvas, colour_of(ColourMap::kDiverging, 0)) >= 64 * 64);
}
