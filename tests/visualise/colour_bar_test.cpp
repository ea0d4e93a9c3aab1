#include "visualise/colour_bar.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

// A bar as SVG, whose texts can be read.
std::string drawn(const ColourBar& bar, double length, bool vertical) {
  SvgPainter painter;
  draw_colour_bar(bar, {10, 10}, length, 11, vertical, painter);
  return painter.document(1000, 1000);
}

bool says(const std::string& svg, const std::string& text) {
  return svg.find(">" + text + "<") != std::string::npos;
}

}  // namespace

TEST_CASE("colour bar: numbers stand at both ends and at 0", "[visualise]") {
  const bool vertical = GENERATE(false, true);
  const ColourBar around{ColourMap::kDiverging, -0.0184, 0.0184, "signed rollout"};
  const ColourBar from{ColourMap::kReds, 0, 0.0731, "share"};
  for (const double length : {colour_bar_least_length(around, 11, vertical), 128.0, 700.0}) {
    const std::string svg = drawn(around, length, vertical);
    CHECK(says(svg, "−0.0184"));
    CHECK(says(svg, "0"));
    CHECK(says(svg, "0.0184"));
  }
  for (const double length : {colour_bar_least_length(from, 11, vertical), 128.0, 700.0}) {
    const std::string svg = drawn(from, length, vertical);
    CHECK(says(svg, "0"));
    CHECK(says(svg, "0.0731"));
    CHECK(says(svg, "share"));
  }
  CHECK(says(drawn(around, 700, vertical), "0.010"));  // more where there is room
}

TEST_CASE("colour bar: a long label is broken, never cut", "[visualise]") {
  const bool vertical = GENERATE(false, true);
  const ColourBar bar{ColourMap::kReds, 0, 1, "rollout of positive attention, share"};
  const double least = colour_bar_least_length(bar, 11, vertical);
  const std::string svg = drawn(bar, least, vertical);
  CHECK(svg.find("…") == std::string::npos);
  for (const char* word : {"rollout", "positive", "attention,", "share"})
    CHECK(svg.find(word) != std::string::npos);
  CHECK(colour_bar_breadth(bar, least, 11, vertical) > colour_bar_breadth(bar, 500, 11, vertical));
}

TEST_CASE("colour bar: the same colours in PNG and SVG", "[visualise]") {
  const ColourBar bar{ColourMap::kDiverging, -1, 1, ""};
  Canvas canvas(300, 60);
  CanvasPainter painter(canvas, 1);
  draw_colour_bar(bar, {10, 10}, 256, 11, false, painter);
  const std::string svg = drawn(bar, 256, false);
  for (const double t : {0.1, 0.5, 0.9}) {
    const auto strip = static_cast<int>(t * 256);
    const Colour colour = colour_of(ColourMap::kDiverging, (strip + 0.5) / 256);
    CHECK(canvas.at(10 + strip, 16) == colour);
    char hex[8];
    std::snprintf(hex, sizeof hex, "#%02x%02x%02x", colour.r, colour.g, colour.b);
    CHECK(svg.find(hex) != std::string::npos);
  }
}

TEST_CASE("colour bar: refuses ends that are none", "[visualise]") {
  CHECK_THROWS_AS(colour_bar_least_length({ColourMap::kReds, 1, 1, ""}, 11, false), ConfigError);
  CHECK_THROWS_AS(colour_bar_breadth({ColourMap::kReds, 0, NAN, ""}, 100, 11, false), ConfigError);
}
