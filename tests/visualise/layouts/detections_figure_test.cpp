#include "visualise/layouts/detections_figure.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/visualise/pixels.h"

using namespace fovea;
using namespace fovea::visualise;
using test::pixels_of;

namespace {

constexpr Colour kBlack{0, 0, 0};
constexpr Colour kPlaceGreen{0, 158, 115};

// An image of 40 x 60 pixels behind which batches have zeros.
DetectionsRow row_of_cells() {
  Canvas image(64, 64, kBlack);
  image.fill_rectangle(0, 0, 60, 40, {120, 120, 120});
  return {.name = "a",
          .image = image,
          .height = 40,
          .width = 60,
          .truth = {{{10, 10, 30, 30}, 0, {}, {}}},
          .found = {{{12, 10, 32, 30}, 1, 0.75, {}}}};
}

DetectionLook look_at_places(const std::vector<double>& weights) {
  return {.object = {{12, 10, 32, 30}, 1, 0.75, {}},
          .name = "0: platelet 0.75",
          .layer = "blocks.0, 2 × 2",
          .place = {0.3125, 0.34375},
          .weights = {2, 2, weights},
          .quantity = {false, "attention"},
          .even = 0.25,
          .own = 0};
}

DetectionsFigure figure_of(std::vector<DetectionsRow> rows) {
  return {.title = "run", .classes = {"cell", "platelet"}, .rows = std::move(rows), .factor = 4};
}

}  // namespace

TEST_CASE("detections figure: truth and found side by side, without the zeros of batches",
          "[visualise]") {
  const Canvas drawn = render(figure_of({row_of_cells()}));
  CHECK(pixels_of(drawn, kBlack) == 0);
  CHECK(drawn.width >= 2 * 240);
  CHECK(drawn.width < 3 * 240);
  CHECK(pixels_of(drawn, object_colour(0)) > 0);
  CHECK(pixels_of(drawn, object_colour(1)) > 0);
  CHECK(pixels_of(drawn, kPlaceGreen) == 0);
}

TEST_CASE("detections figure: a look has the weights, the box and the place", "[visualise]") {
  DetectionsRow row = row_of_cells();
  row.looks = {look_at_places({9, 0.1, 0.2, 0.4})};
  DetectionsFigure figure = figure_of({row});
  figure.overlay = 0;
  const Canvas drawn = render(figure);
  CHECK(drawn.width >= 3 * 240);
  CHECK(pixels_of(drawn, kPlaceGreen) == 7 * 7);
  CHECK(pixels_of(drawn, object_colour(1)) >
        pixels_of(render(figure_of({row_of_cells()})), object_colour(1)));
  // The place's own weight does not count for the colours: the largest of the others is as bright.
  const Colour brightest = colour_of(kHeat, 1.0);
  CHECK(pixels_of(drawn, brightest) > 20 * 20);
  row.looks[0].own = -1;
  figure.rows = {row};
  CHECK(pixels_of(render(figure), brightest) < pixels_of(drawn, brightest));
}

TEST_CASE("detections figure: layers as bars; rows may have different numbers of looks",
          "[visualise]") {
  DetectionsRow first = row_of_cells(), second = row_of_cells();
  DetectionLook layers = look_at_places({});
  layers.weights = {};
  layers.layers = {0.25, 0.75};
  first.looks = {layers, layers};
  second.has_truth = false;
  const Canvas drawn = render(figure_of({first, second}));
  CHECK(drawn.width >= 4 * 240);
  CHECK(pixels_of(drawn, kPlaceGreen) == 0);
  // The truth of the second one is a hole.
  const Canvas both = render(figure_of({first, row_of_cells()}));
  CHECK(pixels_of(drawn, object_colour(0)) < pixels_of(both, object_colour(0)));
  layers.carried = true;
  first.looks = {layers, layers};
  CHECK(render(figure_of({first, second})).rgb != drawn.rgb);
}

TEST_CASE("detections figure: what does not fit is refused", "[visualise]") {
  CHECK_THROWS_AS(render(figure_of({})), ShapeError);
  DetectionsRow row = row_of_cells();
  row.height = 65;
  CHECK_THROWS_WITH(render(figure_of({row})),
                    Catch::Contains("65 x 60 pixels of an image of 64 x 64"));
  row = row_of_cells();
  row.found[0].label = 2;
  CHECK_THROWS_AS(render(figure_of({row})), ShapeError);
}
