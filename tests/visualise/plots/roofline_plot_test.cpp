#include "visualise/plots/roofline_plot.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

Roofline some_roofline() {
  return {.title = "a step",
          .products = {{"float32", 1e11}, {"bfloat16", 1.02e11}, {"float64", 5e10}},
          .bandwidths = {{"L1", 4e11}, {"memory", 2e10}},
          .points = {{"linear", false, 50, 8e10, 0.6},
                     {"linear", true, 50, 7e10, 0.3},
                     {"relu", false, 0.125, 2e9, 0.005},
                     {"tiny", false, 0.1, 1e9, 0.0005},
                     {"view", false, 0, 0, 0.1}}};
}

const Series* series_of(const LinePlot& plot, const std::string& name) {
  const auto found =
      std::ranges::find_if(plot.series, [&](const Series& series) { return series.name == name; });
  return found == plot.series.end() ? nullptr : &*found;
}

std::vector<std::string> roof_names(const LinePlot& plot) {
  std::vector<std::string> names;
  for (const Series& series : plot.series) {
    if (series.guide) names.push_back(series.name);
  }
  return names;
}

}  // namespace

TEST_CASE("roofline: points below the roofs of levels and of types", "[visualise]") {
  const LinePlot plot = roofline_plot(some_roofline());
  CHECK(plot.log_x);
  CHECK(plot.log_y);
  // bfloat16 is not told from float32.
  CHECK(roof_names(plot) == std::vector<std::string>{"L1 400 GB/s", "memory 20 GB/s",
                                                     "float32 100 GFLOP/s", "float64 50 GFLOP/s"});
  // A roof of memory slopes up to where the fastest products begin.
  const Series& memory = plot.series[1];
  REQUIRE(memory.x.size() == 2);
  CHECK(memory.y[0] == Approx(20 * memory.x[0]));
  CHECK(memory.x[1] == Approx(1.02e11 / 2e10));
  CHECK(memory.y[1] == Approx(102));

  const Series* forward = series_of(plot, "forward");
  REQUIRE(forward != nullptr);
  // What moves nothing and what takes no time is left out; what takes little has no name.
  CHECK(forward->x == std::vector<double>{50, 0.125});
  CHECK(forward->y == std::vector<double>{80, 2});
  CHECK(forward->labels == std::vector<std::string>{"linear", ""});
  CHECK(forward->areas[0] > forward->areas[1]);
  const Series* backward = series_of(plot, "backward");
  REQUIRE(backward != nullptr);
  CHECK(backward->areas[0] == Approx(forward->areas[0] / 2));
  CHECK(to_svg(plot).find("linear") != std::string::npos);
}

TEST_CASE("roofline: roofs alone, and what has none", "[visualise]") {
  Roofline roofline = some_roofline();
  roofline.points.clear();
  const LinePlot plot = roofline_plot(roofline);
  CHECK(series_of(plot, "forward") == nullptr);
  CHECK(roof_names(plot).size() == 4);
  CHECK_FALSE(to_svg(plot).empty());
  roofline.products.clear();
  CHECK_THROWS_AS(roofline_plot(roofline), ConfigError);
}

TEST_CASE("plot: areas need a value for every point", "[visualise]") {
  LinePlot plot;
  plot.series = {{.name = "", .x = {1, 2}, .y = {1, 2}, .band = {}}};
  plot.series[0].areas = {1};
  CHECK_THROWS_AS(to_svg(plot), ShapeError);
  plot.series[0].areas = {1, 4};
  CHECK_NOTHROW(to_svg(plot));
}
