#include "visualise/plots/plot.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/plots/confusion_plot.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The curves (lines of a series' width), areas and texts that were drawn.
struct Drawn {
  std::vector<std::vector<Point>> curves, bands, dots;
  std::vector<Rect> boxes;
  std::vector<std::string> texts;
};

class Recorder final : public Painter {
 public:
  void rectangle(const Rect&, Colour) override {}
  void line(std::span<const Point> points, const Stroke& stroke) override {
    if (stroke.width == 1.8) drawn.curves.emplace_back(points.begin(), points.end());
  }
  void polygon(std::span<const Point> points, Colour, double opacity) override {
    (opacity < 1 ? drawn.bands : drawn.dots).emplace_back(points.begin(), points.end());
  }
  void text(Point anchor, std::string_view text, const TextStyle& style) override {
    const double w = text_width(text, style.size), h = style.size;
    const double back = style.align == Align::kLeft ? 0 : style.align == Align::kCentre ? w / 2 : w;
    drawn.boxes.push_back(style.upwards ? Rect{anchor.x - h / 2, anchor.y - w + back, h, w}
                                        : Rect{anchor.x - back, anchor.y - h / 2, w, h});
    drawn.texts.emplace_back(text);
  }

  Drawn drawn;
};

LinePlot decay(int points, int series) {
  LinePlot plot;
  plot.title = "loss";
  plot.x_label = "epoch";
  plot.y_label = "cross-entropy";
  for (int s = 0; s < series; ++s) {
    Series curve{"run " + std::to_string(s), {}, {}, {}};
    for (int i = 0; i < points; ++i) {
      curve.x.push_back(i);
      curve.y.push_back(std::exp(-0.05 * i) + 0.1 * s);
    }
    plot.series.push_back(curve);
  }
  return plot;
}

Drawn record(const LinePlot& plot) {
  Recorder recorder;
  draw(plot, {0, 0, plot.width, plot.height}, recorder);
  return recorder.drawn;
}

bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

}  // namespace

TEST_CASE("plot: NaN leaves a gap, lonely points become dots", "[visualise]") {
  LinePlot plot = decay(40, 1);
  plot.series[0].name.clear();
  CHECK(record(plot).curves.size() == 1);
  plot.series[0].y[10] = kNan;
  plot.series[0].y[12] = std::numeric_limits<double>::infinity();
  const Drawn r = record(plot);
  CHECK(r.curves.size() == 3);
  CHECK(r.curves[0].size() == 10);
  CHECK(r.curves[2].size() == 27);
  CHECK(r.dots.size() == 1);  // point 11
}

TEST_CASE("plot: values that are not positive are gaps on a logarithmic axis only", "[visualise]") {
  LinePlot plot = decay(30, 1);
  plot.series[0].name.clear();
  plot.series[0].y[15] = 0;
  CHECK(record(plot).curves.size() == 1);
  plot.log_y = true;
  const Drawn r = record(plot);
  REQUIRE(r.curves.size() == 2);
  // exp is a straight line there: equal steps down
  const auto& line = r.curves[0];
  CHECK(line[2].y - line[1].y == Approx(line[9].y - line[8].y));
}

TEST_CASE("plot: two logarithmic axes make powers straight", "[visualise]") {
  LinePlot plot;
  plot.log_x = plot.log_y = true;
  plot.series.push_back({"", {20, 40, 80, 160}, {1, 4, 16, 64}, {}});
  const Drawn r = record(plot);
  REQUIRE(r.curves.size() == 1);
  const auto& line = r.curves[0];
  CHECK(line[1].x - line[0].x == Approx(line[3].x - line[2].x));
  CHECK(line[0].y - line[1].y == Approx(line[2].y - line[3].y));
  CHECK(r.dots.size() == 4);
  CHECK(std::count(r.texts.begin(), r.texts.end(), "50") == 2);  // on both axes
  plot.series[0].x[0] = 0;
  CHECK(record(plot).curves.at(0).size() == 3);
  plot.series[0].x = {5, 5, 5, 5};
  CHECK_NOTHROW(render(plot, 1));
}

TEST_CASE("plot: guides have no dots and no colour of the palette", "[visualise]") {
  LinePlot plot = decay(5, 1);
  const std::size_t dots = record(plot).dots.size();
  plot.series.push_back({"guide", {0, 4}, {1, 0.5}, {}, true});
  CHECK(record(plot).dots.size() == dots);
  CHECK(to_svg(plot).find("stroke-dasharray") != std::string::npos);
}

TEST_CASE("plot: limits cut curves and bands", "[visualise]") {
  LinePlot plot = decay(60, 1);
  plot.series[0].name.clear();
  plot.series[0].band.assign(60, 0.2);
  plot.y_low = 0.3;
  plot.y_high = 0.6;
  const Drawn r = record(plot);
  REQUIRE(r.curves.size() == 1);
  REQUIRE(r.bands.size() == 1);
  double top = 1e9, bottom = 0;
  for (const Point p : r.bands[0]) {
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  CHECK(r.curves[0].front().y == Approx(top));
  CHECK(r.curves[0].back().y == Approx(bottom));
  CHECK(bottom < plot.height);
}

TEST_CASE("plot: texts neither overlap, nor meet a curve, nor leave the picture", "[visualise]") {
  const int points = GENERATE(1, 2, 7, 300);
  const int series = GENERATE(1, 3, 9);
  LinePlot plot = decay(points, series);
  plot.log_y = GENERATE(false, true);
  plot.title = "a title that is much longer than the plot below it is wide, so that it must be cut";
  plot.series[0].name = "DGViT with a very long name, q_residual=false, lambda_mode=schedule, x4";
  for (double& x : plot.series[0].x) x *= 25000;
  const Drawn r = record(plot);
  for (std::size_t i = 0; i < r.boxes.size(); ++i) {
    INFO(r.texts[i]);
    if (r.texts[i].empty()) continue;
    CHECK(r.boxes[i].x >= 0);
    CHECK(r.boxes[i].y >= 0);
    CHECK(r.boxes[i].right() <= plot.width);
    CHECK(r.boxes[i].bottom() <= plot.height);
    int crossed = 0;
    for (const auto& curve : r.curves) {
      for (const Point p : curve) crossed += overlap(r.boxes[i], {p.x, p.y, 0, 0}) ? 1 : 0;
    }
    CHECK(crossed == 0);
    for (std::size_t j = 0; j < i; ++j) {
      INFO(r.texts[j]);
      CHECK((r.texts[j].empty() || !overlap(r.boxes[i], r.boxes[j])));
    }
  }
}

TEST_CASE("plot: pictures have the asked size and show the series' colours", "[visualise]") {
  LinePlot plot = decay(50, 2);
  const Canvas canvas = render(plot, 1.5);
  CHECK(canvas.width == 840);
  CHECK(canvas.height == 540);
  for (const std::int64_t series : {0, 1}) {
    int pixels = 0;
    for (std::int64_t i = 0; i < canvas.width * canvas.height; ++i) {
      pixels += canvas.at(i % canvas.width, i / canvas.width) == palette_colour(series) ? 1 : 0;
    }
    CHECK(pixels > 300);
  }
  const std::vector<LinePlot> plots(3, plot);
  CHECK(render(plots, 2, 1).width == 2 * 560);
  CHECK(render(plots, 2, 1).height == 2 * 360);
  CHECK(render(plots, 5, 1).width == 3 * 560);
}

TEST_CASE("plot: SVG is escaped and complete", "[visualise]") {
  LinePlot plot = decay(5, 1);
  plot.title = "a < b & \"c\"";
  const std::string svg = to_svg(plot);
  CHECK(svg.find("a &lt; b &amp; &quot;c&quot;") != std::string::npos);
  CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("plot: empty and constant data still give axes", "[visualise]") {
  LinePlot plot;
  CHECK(record(plot).curves.empty());
  plot.log_y = true;
  CHECK_NOTHROW(render(plot, 1));
  plot.series.push_back({"flat", {0, 1, 2}, {0, 0, 0}, {}});
  CHECK_NOTHROW(render(plot, 1));  // no positive value
  plot.log_y = false;
  CHECK(record(plot).curves.size() == 2);  // the curve and its sample in the legend
  plot.series[0].y = {kNan, kNan, kNan};
  CHECK_NOTHROW(render(plot, 1));
  plot.series[0].y = {1, 1e300, -1e300};  // a run that diverged
  CHECK(record(plot).dots.size() == 1);
  plot.series[0].y = {1e30, -1e30, 1e-30};
  CHECK_NOTHROW(render(plot, 1));
  plot.series[0].x = {1e6, 1e6 + 1e-7, 1e6};
  CHECK_NOTHROW(render(plot, 1));
}

TEST_CASE("plot: refuses wrong lengths and limits", "[visualise]") {
  LinePlot plot = decay(5, 1);
  plot.series[0].band = {1};
  CHECK_THROWS_AS(render(plot), ShapeError);
  plot = decay(5, 1);
  plot.y_low = 2;
  plot.y_high = 1;
  CHECK_THROWS_AS(render(plot), ConfigError);
  plot.log_y = true;
  plot.y_low = -1;
  CHECK_THROWS_WITH(render(plot), Catch::Contains("logarithmic"));
  CHECK_THROWS_AS(render(std::vector<LinePlot>{}, 1), ConfigError);
  CHECK_THROWS_AS(render(decay(5, 1), 0), ConfigError);
}

TEST_CASE("confusion plot: rows are normalised, truth runs down", "[visualise]") {
  const ConfusionPlot plot{"t", {"a", "b"}, {1, 3, 0, 20}};
  const std::string svg = to_svg(plot);
  const auto fill = [&](double share) {
    const Colour c = colour_of(ColourMap::kBlues, share);
    char hex[8];
    std::snprintf(hex, sizeof hex, "#%02x%02x%02x", c.r, c.g, c.b);
    return svg.find(std::string("width=\"46\" height=\"46\" fill=\"") + hex);
  };
  // In drawing order: truth a with 25 % and 75 %, then truth b with 0 % and 100 %.
  REQUIRE(fill(0.25) != std::string::npos);
  REQUIRE(fill(1) != std::string::npos);
  CHECK(fill(0.25) < fill(0.75));
  CHECK(fill(0.75) < fill(0));
  CHECK(fill(0) < fill(1));
  CHECK(svg.find(">20</text>") != std::string::npos);
  CHECK(svg.find("true class") != std::string::npos);
}

TEST_CASE("confusion plot: counts of many classes are not written, empty rows are grey",
          "[visualise]") {
  ConfusionPlot plot{"", std::vector<std::string>(40, "c"), std::vector<std::int64_t>(1600, 7)};
  CHECK(to_svg(plot).find(">7</text>") == std::string::npos);
  const std::string empty = to_svg(ConfusionPlot{"", {"a"}, {0}});
  CHECK(empty.find("fill=\"#c8c8c8\"") != std::string::npos);
  CHECK_THROWS_AS(render(ConfusionPlot{"", {"a", "b"}, {1, 2, 3}}), ShapeError);
  CHECK_THROWS_AS(render(ConfusionPlot{"", {"a"}, {-1}}), NumericError);
}

TEST_CASE("fit_text and wrap_text: keep whole characters and words", "[visualise]") {
  CHECK(fit_text("short", 12, 500) == "short");
  const std::string cut = fit_text("éééééééé", 12, text_width("ééé…", 12) + 0.1);
  CHECK(cut == "ééé…");
  CHECK(wrap_text("raw + abs", 12, 1000) == std::vector<std::string>{"raw + abs"});
  CHECK(wrap_text(" raw  +abs ", 12, 1) == std::vector<std::string>{"raw", "+abs"});
  CHECK(wrap_text("", 12, 10).empty());
}

TEST_CASE("plot: bars stand on 0 and below it hang", "[visualise]") {
  struct Rectangles final : Painter {
    std::vector<Rect> found;
    void rectangle(const Rect& rect, Colour) override { found.push_back(rect); }
    void line(std::span<const Point>, const Stroke&) override {}
    void polygon(std::span<const Point>, Colour, double) override {}
    void text(Point, std::string_view, const TextStyle&) override {}
  };
  LinePlot plot;
  Series bars;
  bars.x = {1, 2, 3, 4};
  bars.y = {4, -2, 0, NAN};
  bars.bars = true;
  plot.series.push_back(bars);
  Rectangles painter;
  draw(plot, {0, 0, 400, 300}, painter);
  REQUIRE(painter.found.size() == 3);
  const Rect& up = painter.found[0];
  const Rect& down = painter.found[1];
  CHECK(up.bottom() == Approx(down.y));
  CHECK(up.h == Approx(2 * down.h));
  CHECK(up.w == Approx(down.w));
  CHECK(up.right() < down.x);
  CHECK(painter.found[2].h == Approx(0));
  // Of positive values 0 is the axis itself.
  plot.series[0].y = {4, 2, 1, 3};
  painter.found.clear();
  draw(plot, {0, 0, 400, 300}, painter);
  REQUIRE(painter.found.size() == 4);
  for (const Rect& bar : painter.found)
    CHECK(bar.bottom() == Approx(up.y + (painter.found[0].bottom() - up.y)));
}
