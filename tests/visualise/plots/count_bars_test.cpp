#include "visualise/plots/count_bars.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/visualise/pixels.h"
#include "visualise/layouts/label_overlay.h"

using namespace fovea;
using namespace fovea::visualise;
using test::pixels_of;

namespace {

CountBars errors_of_two_classes() {
  return {.title = "errors",
          .label = "detections",
          .names = {"found", "missed"},
          .parts = {"cell", "platelet"},
          .counts = {30, 10, 0, 20}};
}

}  // namespace

TEST_CASE("count bars: parts as long as their counts, in the colours of classes", "[visualise]") {
  CountBars bars = errors_of_two_classes();
  const Canvas drawn = render(bars, 1);
  const auto legend = pixels_of(drawn, class_colour(1)) - 380 * 30 / 40 * 20;
  CHECK(legend >= 12 * 12 - 30);
  CHECK(legend <= 12 * 12 + 30);
  // 10 of 40 and 20 of 40 of the width, and the legend.
  CHECK(std::abs(pixels_of(drawn, class_colour(2)) - (380 * 30 / 40 * 20 + 12 * 12)) <= 60);
  bars.counts = {0, 0, 0, 0};
  CHECK(std::abs(pixels_of(render(bars, 1), class_colour(1)) - 12 * 12) <= 30);
}

TEST_CASE("count bars: sums, names and axis are written", "[visualise]") {
  const std::string svg = to_svg(errors_of_two_classes());
  for (const char* text :
       {">errors<", ">found<", ">missed<", ">40<", ">20<", ">platelet<", ">detections<"})
    CHECK_THAT(svg, Catch::Contains(text));
}

TEST_CASE("count bars: one part, and more than can be told apart, have one colour", "[visualise]") {
  CountBars bars = errors_of_two_classes();
  bars.parts = {"cell"};
  bars.counts = {30, 20};
  CHECK_THAT(to_svg(bars), !Catch::Contains(">cell<"));
  bars.parts.assign(kMostBarParts + 1, "class");
  bars.counts.assign(2 * bars.parts.size(), 1);
  const Canvas drawn = render(bars, 1);
  CHECK(pixels_of(drawn, class_colour(1)) > 0);
  CHECK(pixels_of(drawn, class_colour(2)) == 0);
}

TEST_CASE("count bars: what does not fit is refused", "[visualise]") {
  CountBars bars = errors_of_two_classes();
  bars.counts.pop_back();
  CHECK_THROWS_WITH(render(bars), Catch::Contains("3 counts for 2 bars of 2 parts"));
  bars.counts.push_back(-1);
  CHECK_THROWS_AS(render(bars), NumericError);
  CHECK_THROWS_AS(render(CountBars{}), ShapeError);
}
