#include "visualise/drawing/colour_bar.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <map>
#include <regex>

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
  CHECK(says(drawn(around, 700, vertical), "0.01"));  // more where there is room
}

namespace {

// A text element: where it is along a bar, and what it says.
struct TickText {
  double at = 0;
  std::string text;
};

// Those in the line of the numbers of a bar drawn from (10, 10).
std::vector<TickText> numbers_of(const std::string& svg, bool vertical) {
  const std::regex element("<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\"[^>]*>([^<]*)</text>");
  std::vector<TickText> found;
  for (std::sregex_iterator it(svg.begin(), svg.end(), element), end; it != end; ++it) {
    if (svg.substr(static_cast<std::size_t>(it->position()), it->str().size()).find("rotate") !=
        std::string::npos)
      continue;
    const double x = std::stod((*it)[1]), y = std::stod((*it)[2]);
    if (vertical ? x < 40 : y < 45) found.push_back({vertical ? y : x, (*it)[3]});
  }
  return found;
}

}  // namespace

TEST_CASE("colour bar: at most seven numbers, none over another", "[visualise]") {
  const bool vertical = GENERATE(false, true);
  const bool logarithmic = GENERATE(false, true);
  const auto [low, high] = GENERATE(table<double, double>({{0.004, 0.0061},
                                                           {0.00510, 0.00512},
                                                           {1e-7, 0.9},
                                                           {0.03, 33.0},
                                                           {1e-5, 2e-5},
                                                           {99999, 100001}}));
  for (const double length : {90.0, 128.0, 200.0, 333.0, 700.0, 1500.0}) {
    for (const double sign : {1.0, -1.0}) {
      if (logarithmic && sign < 0) continue;
      ColourBar bar{ColourMap::kInferno, sign < 0 ? -high : low, high, ""};
      bar.logarithmic = logarithmic;
      bar.mark = low + 0.4 * (high - low);
      bar.mark_name = "even";
      const auto texts = numbers_of(drawn(bar, length, vertical), vertical);
      INFO(low << " to " << high << ", " << length << " long");
      const bool room = length >= colour_bar_least_length(bar, 11, vertical);
      if (room) CHECK(texts.size() >= 2);
      CHECK(texts.size() <= kMostBarTicks);
      for (std::size_t i = 0; i < texts.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
          const double apart = std::abs(texts[i].at - texts[k].at);
          const double size =
              vertical ? 11 : (text_width(texts[i].text, 11) + text_width(texts[k].text, 11)) / 2;
          if (room) CHECK(apart >= size - 0.01);
        }
      }
    }
  }
}

TEST_CASE("colour bar: numbers tell the ends apart", "[visualise]") {
  CHECK(bar_number(0.005101, 1.1e-5) == "0.005101");
  CHECK(bar_number(0.005112, 1.1e-5) == "0.005112");
  CHECK(bar_number(-0.0184, 0.0368) == "−0.0184");
  CHECK(bar_number(0.5, 1) == "0.5");
  CHECK(bar_number(0, 1) == "0");
  CHECK(bar_number(0.00051, 0.0001) == "5.1×10⁻⁴");
  CHECK(bar_number(2.5e6, 1e6) == "2.5×10⁶");
  CHECK(bar_number(123.4, 200) == "123");
  CHECK(bar_number(100, 200) == "100");  // no zero is lost before the point
}

TEST_CASE("colour bar: what stands out has a line across the bar, and words", "[visualise]") {
  ColourBar bar{ColourMap::kInferno, 0.001, 0.009, "share"};
  const std::string without = drawn(bar, 300, false);
  bar.mark = 0.004;
  bar.mark_name = "even";
  bar.mark_text = "even share 0.004";
  const std::string with = drawn(bar, 300, false);
  const auto lines = [](const std::string& svg) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = svg.find("<polyline", at)) != std::string::npos; ++at) ++found;
    return found;
  };
  CHECK(says(with, "even"));
  CHECK(says(with, "share; even share 0.004"));
  CHECK(lines(with) >= lines(without) + 2);
  bar.mark = 0.02;  // beyond the ends: in words alone
  const std::string beyond = drawn(bar, 300, false);
  CHECK_FALSE(says(beyond, "even"));
  CHECK(says(beyond, "share; even share 0.004"));
  // Zero is marked wherever it is between the ends.
  const ColourBar signs{ColourMap::kInferno, -1, 3, "v"}, none{ColourMap::kInferno, 1, 3, "v"};
  CHECK(lines(drawn(signs, 300, false)) >= lines(drawn(none, 300, false)) + 2);
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
  for (const double t : {0.1, 0.4, 0.9}) {
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
