#include "visualise/plots/roofline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "visualise/drawing/colour_map.h"

namespace fovea::visualise {
namespace {

constexpr double kGiga = 1e9;
constexpr double kSame = 0.05;  // roofs of products that are not told apart

// From the lightest grey, the fastest level, to the darkest, memory.
Colour shade(std::size_t i, std::size_t count) {
  constexpr double kLight = 200, kDark = 60;
  const double share = count < 2 ? 1 : static_cast<double>(i) / static_cast<double>(count - 1);
  const auto grey = static_cast<std::uint8_t>(kLight + share * (kDark - kLight));
  return {grey, grey, grey};
}

Series line_of(const std::string& name, const Point& begin, const Point& end,
               const Stroke& stroke) {
  Series series;
  series.name = name;
  series.x = {begin.x, end.x};
  series.y = {begin.y, end.y};
  series.guide = true;
  series.stroke = stroke;
  return series;
}

Series points_of(const std::vector<RooflinePoint>& points, bool backward) {
  constexpr double kNamed = 0.01, kLargest = 60;  // of a whole step
  Series series;
  series.name = backward ? "backward" : "forward";
  series.stroke = Stroke{palette_colour(backward ? 1 : 0), 2, {}};
  for (const RooflinePoint& point : points) {
    if (point.backward != backward) continue;
    series.x.push_back(point.intensity);
    series.y.push_back(point.rate / kGiga);
    series.labels.push_back(point.share >= kNamed ? point.name : "");
    series.areas.push_back(std::max(0.5, kLargest * point.share));
  }
  return series;
}

}  // namespace

LinePlot roofline_plot(const Roofline& roofline) {
  FOVEA_CHECK(!roofline.products.empty() && !roofline.bandwidths.empty(), ConfigError,
              fmt::format("roofline: {} roofs of products and {} of bandwidths; expected at least "
                          "one of each",
                          roofline.products.size(), roofline.bandwidths.size()));
  constexpr double kShown = 0.001;
  std::vector<RooflinePoint> points;
  for (const RooflinePoint& point : roofline.points) {
    if (point.share >= kShown && point.intensity > 0 && point.rate > 0) points.push_back(point);
  }
  const auto by_rate = [](const Roof& a, const Roof& b) { return a.rate < b.rate; };
  const double top = std::ranges::max_element(roofline.products, by_rate)->rate;
  const auto [slowest, fastest] = std::ranges::minmax_element(roofline.bandwidths, by_rate);
  // The axis reaches from before all points and the first ridge to behind the others.
  double low = top / fastest->rate, high = top / slowest->rate;
  for (const RooflinePoint& point : points) {
    low = std::min(low, point.intensity);
    high = std::max(high, point.intensity);
  }
  low /= 4;
  high *= 3;

  LinePlot plot;
  plot.title = roofline.title;
  plot.x_label = "operations for every byte moved";
  plot.y_label = "GFLOP/s";
  plot.log_x = plot.log_y = true;
  plot.width = 860;
  plot.height = 540;
  for (std::size_t i = 0; i < roofline.bandwidths.size(); ++i) {
    const Roof& roof = roofline.bandwidths[i];
    plot.series.push_back(line_of(fmt::format("{} {:.3g} GB/s", roof.name, roof.rate / kGiga),
                                  {low, roof.rate * low / kGiga}, {top / roof.rate, top / kGiga},
                                  {shade(i, roofline.bandwidths.size()), 1.5, {}}));
  }
  const std::vector<std::vector<double>> dashes{{}, {7, 3}, {2, 3}};
  std::vector<double> drawn;
  for (const Roof& roof : roofline.products) {
    const bool near = std::ranges::any_of(
        drawn, [&](double rate) { return std::abs(rate / roof.rate - 1) < kSame; });
    if (near) continue;
    const double height = roof.rate / kGiga;
    plot.series.push_back(line_of(fmt::format("{} {:.3g} GFLOP/s", roof.name, height),
                                  {roof.rate / fastest->rate, height}, {high, height},
                                  {kInk, 1.5, dashes[drawn.size() % dashes.size()]}));
    drawn.push_back(roof.rate);
  }
  for (const bool backward : {false, true}) {
    Series series = points_of(points, backward);
    if (!series.x.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace fovea::visualise
