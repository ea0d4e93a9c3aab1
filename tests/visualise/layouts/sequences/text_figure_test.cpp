#include "visualise/layouts/sequences/text_figure.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

struct Box {
  std::int64_t left = 1 << 30, top = 1 << 30, right = -1, bottom = -1;
  std::int64_t height() const { return bottom - top + 1; }
};

Box box_of(const Canvas& canvas, Colour colour, std::int64_t above = 1 << 30) {
  Box box;
  for (std::int64_t y = 0; y < std::min(canvas.height, above); ++y) {
    for (std::int64_t x = 0; x < canvas.width; ++x) {
      if (canvas.at(x, y) != colour) continue;
      box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x),
             std::max(box.bottom, y)};
    }
  }
  return box;
}

TextFigure sentences() {
  TextFigure f;
  f.panels = {
      {"DGT", {"draws", "a", "filled", "rectangle"}, {0.1, 0.2, 0.3, 0.4}, {false, "rollout"}}};
  f.factor = 1;
  return f;
}

}  // namespace

TEST_CASE("text figure: words with little between them have all colours", "[visualise]") {
  TextFigure f = sentences();
  f.panels[0].weights = {0.2501, 0.2502, 0.2503, 0.2504};
  f.panels[0].even = 0.25;
  const Canvas canvas = render(f);
  CHECK(box_of(canvas, colour_of(kHeat, 0), 60).left == 16);
  CHECK(box_of(canvas, colour_of(kHeat, 1), 60).right > 100);
  f.panels[0].weights = {0.25, 0.25, 0.25, 0.25};  // nothing to tell apart: the middle
  CHECK(box_of(render(f), colour_of(kHeat, 0.5), 60).right > 100);
  CHECK(box_of(render(f), colour_of(kHeat, 1), 60).right == -1);
}

TEST_CASE("text figure: more panels than columns stand in rows", "[visualise]") {
  TextFigure f = sentences();
  f.panels.resize(3, f.panels[0]);
  const Canvas three = render(f);
  f.columns = 2;
  const Canvas rows = render(f);
  f.panels.pop_back();
  const Canvas two = render(f);
  CHECK(rows.width == two.width);
  CHECK(rows.width < three.width);
  CHECK(rows.height > two.height + 60);
  // The third stands below the first, of whose colours it has all.
  const Box bright = box_of(rows, colour_of(kHeat, 1));
  CHECK(bright.bottom > two.height);
  for (std::int64_t y = 0; y < 60; ++y) CHECK(rows.at(20, y) == two.at(20, y));
  f.columns = 0;
  CHECK_THROWS_AS(render(f), ShapeError);
}

TEST_CASE("text figure: colours from 0 to the largest weight on request", "[visualise]") {
  TextFigure f = sentences();
  f.scale.ends = HeatEnds::kFromZero;
  f.panels[0].weights[0] = 0;
  f.sequential = ColourMap::kPlasma;
  const Canvas canvas = render(f);
  const Box dark = box_of(canvas, colour_of(ColourMap::kPlasma, 0), 60);
  const Box bright = box_of(canvas, colour_of(ColourMap::kPlasma, 1), 60);
  CHECK(dark.left == 16);                // the first word stands at the margin
  CHECK(bright.left > dark.right + 20);  // the last in the same line, after others
  CHECK(bright.top == dark.top);
  CHECK(bright.height() == dark.height());
  f.panels[0].weights[0] = 0.05;  // not the end any more
  CHECK(box_of(render(f), colour_of(ColourMap::kPlasma, 0), 60).right == -1);
}

TEST_CASE("text figure: signed weights have blue, grey at 0 and red, whatever their values",
          "[visualise]") {
  TextFigure f = sentences();
  f.panels[0].quantity = {true, "signed rollout"};
  f.panels[0].weights = {0.1, 0, -0.4, 0.4};
  const auto shows = [&](double t) {
    return box_of(render(f), colour_of(ColourMap::kDiverging, t), 60).right >= 0;
  };
  CHECK(shows(0.5));
  CHECK(shows(0));
  CHECK(shows(1));
  CHECK(shows(0.625));
  f.panels[0].weights = {0.1, 0.2, 0.4, 0.4};  // positive by chance
  CHECK(shows(0.625));
  CHECK_FALSE(shows(0));
  f.scale.ends = HeatEnds::kEvenShare;
  CHECK_THROWS_WITH(render(f), Catch::Contains("signed rollout (DGT) is none"));
  // From least to largest, in the colours of the paper's figure.
  f.scale.ends = HeatEnds::kMinMax;
  f.sequential = ColourMap::kPlasma;
  f.panels[0].weights = {0.1, 0, -0.4, 0.4};
  for (const double t : {0.0, 0.5, 0.625, 1.0})
    CHECK(box_of(render(f), colour_of(ColourMap::kPlasma, t), 60).right >= 0);
}

TEST_CASE("text figure: words flow into lines, line breaks end them", "[visualise]") {
  TextFigure f = sentences();
  const std::int64_t one_line = render(f).height;
  f.panels[0].tokens[1] = "a\n";
  const std::int64_t two_lines = render(f).height;
  CHECK(two_lines > one_line + 15);
  f.column_width = 60;  // too narrow for two of these words
  f.panels[0].tokens[1] = "another";
  CHECK(render(f).height > two_lines + 30);
  f.panels[0].tokens[3] = std::string(100000, 'm');
  const Canvas canvas = render(f);
  CHECK(canvas.width == 60 + 2 * 16);
  CHECK(box_of(canvas, colour_of(kHeat, 1)).right < 60 + 16);
}

TEST_CASE("text figure: unknown words have a dotted line, and what was cut is said",
          "[visualise]") {
  TextFigure f = sentences();
  const Canvas before = render(f);
  // Where the first 60 rows of pixels, those of the words, differ.
  const auto changed = [&](const Canvas& now) {
    Box box;
    for (std::int64_t y = 0; y < 60; ++y) {
      for (std::int64_t x = 0; x < now.width; ++x) {
        if (now.at(x, y) == before.at(x, y)) continue;
        box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x),
               std::max(box.bottom, y)};
      }
    }
    return box;
  };
  f.panels[0].cut = 30;
  CHECK(changed(render(f)).right == -1);
  CHECK(render(f).height > before.height + 8);
  f.panels[0].cut = 0;
  f.panels[0].unknown = {0};
  const Box line = changed(render(f));
  CHECK(line.left >= 16);
  CHECK(line.right < 16 + 50);  // below "draws" alone
  CHECK(line.height() <= 3);
  CHECK(render(f).height > before.height + 8);
  f.panels[0].unknown = {4};
  CHECK_THROWS_AS(render(f), ShapeError);
}

TEST_CASE("text figure: panels stand side by side, each with its own numbers", "[visualise]") {
  TextFigure f = sentences();
  const std::int64_t one = render(f).width;
  f.panels.push_back({"DIFF", {"\xff", "", "\t", "日本"}, {0, 0, 0, 0}, {false, "rollout"}});
  f.panels.push_back({"Transformer", {"x"}, {-1e-3}, {true, "signed rollout"}});
  f.title = "a text";
  f.scale.sharing = HeatSharing::kFigure;
  const Canvas canvas = render(f);
  CHECK(canvas.width == 3 * (one - 32) + 2 * 28 + 32);
  f.factor = 2;
  CHECK(render(f).width == 2 * canvas.width);
}

TEST_CASE("text figure: what would be invisible has a sign", "[visualise]") {
  CHECK(visible_token("") == "∅");
  CHECK(visible_token("a\n") == "a↵");
  CHECK(visible_token("\t\x7f") == "␉␡");
  CHECK(visible_token(" a b ") == "·a b·");
  CHECK(visible_token("  ") == "··");
}

TEST_CASE("text figure: refuses what it cannot draw", "[visualise]") {
  CHECK_THROWS_AS(render(TextFigure{}), ShapeError);
  TextFigure f = sentences();
  f.panels[0].weights.pop_back();
  CHECK_THROWS_WITH(render(f), Catch::Contains("DGT has 4 tokens and 3 weights"));
  f = sentences();
  f.column_width = 20;
  CHECK_THROWS_AS(render(f), ConfigError);
  f = sentences();
  f.factor = 0;
  CHECK_THROWS_AS(render(f), ConfigError);
}
