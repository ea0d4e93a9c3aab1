// A recording over one axis of time: where parts lie, what colours they have.
#include "visualise/layouts/sequences/speech_figure.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

// 8 frames of 3 bands in 0.8 s, 4 tokens of 2 frames each.
SpeechFigure figure() {
  SpeechFigure f;
  f.title = "run, 0: a.wav";
  f.lines = {"said: \"yes no\"", "heard: \"yes\""};
  f.seconds = 0.8;
  f.features = {8, 3, std::vector<double>(24, 0.0)};
  f.features.at(0, 0) = 1;  // the lowest band, first
  f.frames = {0.05, 0.1};
  f.hertz = {100, 400, 1000};
  f.features_name = "ln power";
  f.tokens = {0.1, 0.2};
  f.probabilities = {4, 3, {0.9, 0.1, 0, 0.1, 0.9, 0, 0.9, 0.1, 0, 0.8, 0, 0.2}};
  f.heard = {{"yes", 0.2, 0.4, 0.3}};
  f.said = {{"yes", 0.2, 0.4, 0.3}, {"no", 0.6, 0.8, 0.7}};
  f.looks = {1, 4, {0.1, 0.6, 0.3, 0.2}};
  f.quantity = {false, "rollout"};
  f.ends = HeatEnds::kFromZero;
  f.factor = 1;
  return f;
}

Colour at(const Canvas& canvas, double x, double y) {
  return canvas.at(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y));
}

}  // namespace

TEST_CASE("speech figure: parts lie below each other over one axis of time", "[visualise]") {
  const SpeechLayout l = lay_out(figure());
  for (const Rect& part : {l.probabilities, l.said, l.looks}) {
    CHECK(part.x == l.features.x);
    CHECK(part.w == l.features.w);
  }
  CHECK(l.features.bottom() < l.probabilities.y);
  CHECK(l.probabilities.bottom() < l.said.y);
  CHECK(l.said.bottom() < l.looks.y);
  CHECK(l.looks.bottom() < l.height - 30);  // room for the axis
  CHECK(l.features.right() < l.bars);
  CHECK(l.bars < l.width);
  CHECK(l.x_of(0) == l.features.x);
  CHECK(l.x_of(0.8) == Approx(l.features.right()));
  CHECK(l.x_of(0.4) == Approx(l.features.centre_x()));
  const Canvas canvas = render(figure());
  CHECK(canvas.width == static_cast<std::int64_t>(l.width));
  CHECK(canvas.height == static_cast<std::int64_t>(l.height));
}

TEST_CASE("speech figure: long lines are broken, and parts move down", "[visualise]") {
  SpeechFigure f = figure();
  const SpeechLayout two = lay_out(f);
  CHECK(two.lines == f.lines);
  f.lines[1] = "heard:";
  for (int i = 0; i < 60; ++i) f.lines[1] += " yes";
  const SpeechLayout l = lay_out(f);
  CHECK(l.lines.size() > 3);
  CHECK(l.width == two.width);
  CHECK(l.features.y == Approx(two.features.y + 15 * static_cast<double>(l.lines.size() - 2)));
  CHECK(l.height > two.height + 15);
}

TEST_CASE("speech figure: what is not there takes no room", "[visualise]") {
  SpeechFigure f = figure();
  const SpeechLayout all = lay_out(f);
  f.looks = {};
  f.said = {};
  const SpeechLayout l = lay_out(f);
  CHECK(l.looks.h == 0);
  CHECK(l.said.h == 0);
  CHECK(l.height < all.height - all.looks.h);
  CHECK_NOTHROW(render(f));
  f.heard = {};  // nothing but blanks
  CHECK_NOTHROW(render(f));
}

TEST_CASE("speech figure: the lowest band is at the bottom, a symbol's own token is framed",
          "[visualise]") {
  const SpeechFigure f = figure();
  const SpeechLayout l = lay_out(f);
  const Canvas canvas = render(f);
  const double first = l.x_of(0.05);
  CHECK(at(canvas, first, l.features.bottom() - 10) == colour_of(ColourMap::kViridis, 1));
  CHECK(at(canvas, first, l.features.y + 10) == colour_of(ColourMap::kViridis, 0));
  CHECK(at(canvas, l.x_of(0.15), l.features.bottom() - 10) == colour_of(ColourMap::kViridis, 0));
  // Colours run to 0.3: the 0.6 of its own token does not count.
  const double row = l.looks.y + l.row / 2;
  CHECK(at(canvas, l.x_of(0.5), row) == colour_of(kHeat, 1));
  CHECK(at(canvas, l.x_of(0.1), row) == colour_of(kHeat, 0.1 / 0.3));
  CHECK(at(canvas, l.x_of(0.3), row) == colour_of(kHeat, 1));
  bool framed = false;
  for (double x = l.x_of(0.2) - 2; x < l.x_of(0.2) + 3; ++x)
    framed = framed || at(canvas, x, row).g > at(canvas, x, row).r + 60;
  CHECK(framed);
  // The bar over "yes" of the truth has the colour of that symbol's curve.
  CHECK(at(canvas, l.x_of(0.3), l.said.y + 1) == palette_colour(0));
  CHECK(at(canvas, l.x_of(0.5), l.said.y + 1) == kWhite);
  CHECK(at(canvas, l.x_of(0.7), l.said.y + 1) == kInk);  // "no" was not heard
}

TEST_CASE("speech figure: sizes that do not fit are refused", "[visualise]") {
  SpeechFigure f = figure();
  f.hertz.pop_back();
  CHECK_THROWS_AS(lay_out(f), ShapeError);
  f = figure();
  f.looks = {2, 4, std::vector<double>(8, 0.1)};
  CHECK_THROWS_AS(lay_out(f), ShapeError);
  f = figure();
  f.probabilities = {};
  CHECK_THROWS_AS(lay_out(f), ShapeError);
  f = figure();
  f.factor = 9;
  CHECK_THROWS_AS(render(f), ConfigError);
}
