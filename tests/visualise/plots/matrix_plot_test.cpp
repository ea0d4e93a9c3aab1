#include "visualise/plots/matrix_plot.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "visualise/drawing/colour_map.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

MatrixPlot two_by_two() {
  return {.title = "heads",
          .quantity = "change",
          .rows = {"blocks.0", "blocks.1"},
          .columns = {"0", "1"},
          .values = {1, -2, std::numeric_limits<double>::quiet_NaN(), 0}};
}

bool has(const Canvas& canvas, Colour colour) {
  for (std::int64_t y = 0; y < canvas.height; ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x)
      if (canvas.at(x, y) == colour) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("matrix plot: signed values lie around the middle of their colours", "[visualise]") {
  const std::vector<MatrixPlot> plots = {two_by_two()};
  CHECK(largest_size(plots) == 2);
  const Canvas canvas = render(plots, 1, 1);
  CHECK(has(canvas, colour_of(ColourMap::kDiverging, 0.0)));
  CHECK(has(canvas, colour_of(ColourMap::kDiverging, 0.75)));
  CHECK(has(canvas, colour_of(ColourMap::kDiverging, 0.5)));
  CHECK(has(canvas, kMissing));
}

TEST_CASE("matrix plot: plots stand in a grid", "[visualise]") {
  const std::vector<MatrixPlot> one = {two_by_two()}, three(3, two_by_two());
  const Canvas single = render(one, 2, 1), grid = render(three, 2, 1);
  // Sizes are rounded to pixels once.
  CHECK(std::abs(grid.width - 2 * single.width) <= 1);
  CHECK(std::abs(grid.height - 2 * single.height) <= 1);
  std::vector<MatrixPlot> zeros = one;
  zeros[0].values = {0, 0, 0, 0};
  zeros[0].is_signed = false;
  CHECK(has(render(zeros, 1, 1), colour_of(ColourMap::kReds, 0)));
}

TEST_CASE("matrix plot: a value for every cell", "[visualise]") {
  std::vector<MatrixPlot> plots = {two_by_two()};
  plots[0].values.pop_back();
  CHECK_THROWS_AS(render(plots, 1), ShapeError);
  CHECK_THROWS_AS(render(std::vector<MatrixPlot>{}, 1), ConfigError);
}
