#include "visualise/layouts/unit_drawing.h"

#include <catch2/catch.hpp>

#include "backend/devices.h"
#include "base/error.h"

using namespace fovea;
using visualise::UnitDrawing;

namespace {

ops::Units units_of(bool dilated, std::vector<std::int64_t> shift = {}) {
  return {{.grid = {1, 4, 4}, .unit = {1, 2, 2}, .dilated = dilated, .shift = std::move(shift)},
          make_cpu(1)};
}

}  // namespace

TEST_CASE("unit drawing: numbers of blocks, dilated units and shifted windows", "[visualise]") {
  using Numbers = std::vector<std::int64_t>;
  CHECK(visualise::unit_numbers(units_of(false)) ==
        Numbers{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3});
  CHECK(visualise::unit_numbers(units_of(true)) ==
        Numbers{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
  // Tokens that share a window only across the edge are apart.
  CHECK(visualise::unit_numbers(units_of(false, {0, 1, 1})) ==
        Numbers{0, 1, 1, 2, 3, 4, 4, 5, 3, 4, 4, 5, 6, 7, 7, 8});
}

TEST_CASE("unit drawing: the chosen token's unit stands out", "[visualise]") {
  UnitDrawing drawing{"t", {1, 4, 4}, {0, 0, 0}, {{"local", units_of(false)}}};
  const auto one = visualise::render(drawing);
  drawing.token = {0, 3, 3};
  CHECK(visualise::render(drawing).rgb != one.rgb);
  drawing.rows.push_back({"global", units_of(true)});
  CHECK(visualise::render(drawing).height > one.height);
  drawing.token = {1, 0, 0};
  CHECK_THROWS_AS(visualise::render(drawing), ShapeError);
  drawing.token = {0, 0, 0};
  drawing.grid = {2, 4, 4};
  CHECK_THROWS_AS(visualise::render(drawing), ShapeError);
}
