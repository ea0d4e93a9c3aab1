// Score against size and cost. gdla figure 1.
#include "visualise/plots/tradeoff.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/run_cli.h"
#include "visualise/plots/plot_names.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

std::vector<TradeoffSource> sources() {
  return {{"paper", "DSC", {{"a", 80, 2e6, {}, 3e9}, {"b, c", 82, 4e6, {}, {}}}},
          {"ours", "dice", {{"d", 70, 1e6, 2e9, 1e9}}}};
}

}  // namespace

TEST_CASE("tradeoff: a plot for parameters and one for each count, in millions", "[visualise]") {
  const auto plots = tradeoff_plots(sources());
  REQUIRE(plots.size() == 3);
  CHECK(plots[0].y_label == "DSC / dice");
  CHECK(plots[0].series[0].x == std::vector<double>{2, 4});
  CHECK(plots[0].series[0].labels[1] == "b, c");
  CHECK(plots[1].x_label == "multiply-adds (G)");
  CHECK(plots[1].series[0].x.empty());
  CHECK(plots[1].series[1].x == std::vector<double>{2});
  CHECK(plots[2].x_label == "multiply-adds as the paper counts (G)");
  CHECK(plots[2].series[0].x == std::vector<double>{3});
  CHECK(plots[2].series[1].x == std::vector<double>{1});
  CHECK_FALSE(plots[0].log_x);
  std::vector<TradeoffSource> wide = sources();
  wide[0].rows[0].parameters = 41e6;
  CHECK(tradeoff_plots(wide)[0].log_x);
  std::vector<TradeoffSource> one = {sources()[0]};
  one[0].rows.erase(one[0].rows.begin());
  CHECK(tradeoff_plots(one).size() == 1);
  CHECK(tradeoff_plots(one)[0].series[0].name.empty());
}

TEST_CASE("tradeoff: samples a second where they were measured", "[visualise]") {
  std::vector<TradeoffSource> timed = sources();
  timed[1].rows[0].samples_per_s = 120.5;
  timed[1].rows[0].measured_on = "cpu, 2 threads";
  const auto plots = tradeoff_plots(timed);
  REQUIRE(plots.size() == 4);
  CHECK(plots[3].x_label == "samples a second");
  CHECK(plots[3].series[0].x.empty());
  CHECK(plots[3].series[1].x == std::vector<double>{120.5});
  CHECK_THAT(tradeoff_csv(timed), Catch::EndsWith(",120.5,\"cpu, 2 threads\"\n"));
}

TEST_CASE("tradeoff: written as picture and as a table", "[visualise]") {
  const test::TestFolder folder("tradeoff");
  write_tradeoff(folder.path("a.svg"), sources());
  const std::string svg = io::read_text(folder.path("a.svg"));
  CHECK_THAT(svg, Catch::Contains("b, c") && Catch::Contains("parameters (M)"));
  CHECK(io::read_text(folder.path("a.csv")) ==
        "source,row,score,parameters,macs,macs_paper,samples_per_s,measured_on\n"
        "paper,a,80,2000000,,3000000000,,\npaper,\"b, c\",82,4000000,,,,\n"
        "ours,d,70,1000000,2000000000,1000000000,,\n");
  CHECK_THROWS_WITH(write_tradeoff(folder.path("a.jpg"), sources()), Catch::Contains(".svg"));
  CHECK_THROWS_AS(write_tradeoff(folder.path("b.svg"), {{"x", "y", {{"a", 1, {}, {}, {}}}}}),
                  ConfigError);
}

TEST_CASE("names of points: beside them, and not on each other", "[visualise]") {
  // Two points close together: the names take different sides.
  struct Recorder final : Painter {
    void rectangle(const Rect&, Colour) override {}
    void line(std::span<const Point>, const Stroke&) override {}
    void polygon(std::span<const Point>, Colour, double) override {}
    void text(Point anchor, std::string_view, const TextStyle&) override {
      anchors.push_back(anchor);
    }
    std::vector<Point> anchors;
  } painter;
  draw_names({{{100, 100}, "first"}, {{104, 102}, "second"}, {{195, 50}, "edge"}}, {0, 0, 200, 200},
             {}, painter);
  REQUIRE(painter.anchors.size() == 3);    // from the top: the edge first
  CHECK(painter.anchors[0].x < 195 - 20);  // a name to the right would leave the axes
  const double apart_y = std::abs(painter.anchors[1].y - painter.anchors[2].y);
  const double apart_x = std::abs(painter.anchors[1].x - painter.anchors[2].x);
  CHECK((apart_y >= 12 || apart_x >= 25));
}
