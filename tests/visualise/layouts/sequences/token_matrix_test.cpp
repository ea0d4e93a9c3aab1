#include "visualise/layouts/sequences/token_matrix.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

TokenMatrix matrix() {
  TokenMatrix m;
  m.title = "run, text 1";
  m.tokens = {"a", "long", "story"};
  m.notes = {"next x", "next y", "next z"};
  m.weights = {3, 3, {1, 0, 0, 0.2, 0.8, 0, 0.4, 0.1, 0.5}};
  m.quantity = {false, "rollout"};
  m.ends = HeatEnds::kFromZero;
  m.factor = 1;
  return m;
}

Colour cell(const Canvas& canvas, const TokenMatrixLayout& l, int row, int column) {
  return canvas.at(static_cast<std::int64_t>(l.matrix.x + l.cell * (column + 0.5)),
                   static_cast<std::int64_t>(l.matrix.y + l.cell * (row + 0.5)));
}

}  // namespace

TEST_CASE("token matrix: the lower triangle, in colours of what tokens before have",
          "[visualise]") {
  const TokenMatrix m = matrix();
  const TokenMatrixLayout l = lay_out(m);
  CHECK(l.cell == 22);
  CHECK(l.matrix.w == 66);
  CHECK(l.stride == 1);
  CHECK(l.bar > l.matrix.right() + 30);  // notes stand between
  const Canvas canvas = render(m);
  CHECK(canvas.width == static_cast<std::int64_t>(l.width + 0.5));
  CHECK(cell(canvas, l, 0, 1) == kWhite);
  CHECK(cell(canvas, l, 1, 2) == kWhite);
  CHECK(cell(canvas, l, 1, 0) == colour_of(kHeat, 0.5));
  CHECK(cell(canvas, l, 2, 0) == colour_of(kHeat, 1));
  CHECK(cell(canvas, l, 2, 1) == colour_of(kHeat, 0.25));
  CHECK(cell(canvas, l, 1, 1) == colour_of(kHeat, 1));  // its own, beyond the end
}

TEST_CASE("token matrix: of many tokens every second, third, ... has its name", "[visualise]") {
  TokenMatrix m = matrix();
  m.notes = {};
  m.tokens.assign(200, "x");
  m.weights = {200, 200, std::vector<double>(40000, 0.005)};
  const TokenMatrixLayout l = lay_out(m);
  CHECK(l.cell == 5);
  CHECK(l.stride == 3);
  CHECK(l.matrix.w == 1000);
  CHECK_NOTHROW(render(m));
  m.tokens = {"alone"};
  m.weights = {1, 1, {1}};
  CHECK_NOTHROW(render(m));
}

TEST_CASE("token matrix: sizes that do not fit are refused", "[visualise]") {
  TokenMatrix m = matrix();
  m.notes.pop_back();
  CHECK_THROWS_AS(lay_out(m), ShapeError);
  m = matrix();
  m.tokens.pop_back();
  CHECK_THROWS_AS(lay_out(m), ShapeError);
  m = matrix();
  m.factor = 0.5;
  CHECK_THROWS_AS(render(m), ConfigError);
}
