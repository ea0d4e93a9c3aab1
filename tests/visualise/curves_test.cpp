#include "visualise/curves.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include "base/file.h"

using namespace fovea;

TEST_CASE("learning curves: each series says which samples it is of", "[visualise]") {
  const io::fs::path run =
      io::fs::temp_directory_path() / ("fovea_curves_" + std::to_string(::getpid()));
  io::make_directories(run);
  io::write_atomic(
      run / "metrics.jsonl",
      R"({"step":2,"epoch":0,"split":"train","loss":1.0,"lr":0.1,"samples":3,"time_s":1.0}
{"step":2,"epoch":0,"split":"train","loss":0.5,"dsc":50.0,"iou":40.0,"dice_a":7.0,"time_s":1.0}
{"step":4,"epoch":1,"split":"train","loss":0.8,"lr":0.1,"samples":3,"time_s":1.0}
{"step":4,"epoch":1,"split":"train","loss":0.4,"time_s":1.0}
{"step":2,"epoch":0,"split":"test","weights":"best","loss":0.7,"time_s":1.0}
)");
  const auto plots = visualise::learning_curves({{"",
                                                  run,
                                                  {metrics::kLoss,
                                                   {.name = "iou", .unit = "%"},
                                                   {.name = "dsc", .unit = "%"},
                                                   {.name = "dice_*"}}}});
  io::fs::remove_all(run);
  std::vector<std::string> titles;
  for (const auto& plot : plots) titles.push_back(plot.title);
  CHECK(titles ==
        std::vector<std::string>{"loss", "iou (%)", "dsc (%)",
                                 "learning rate"});  // no curve of "weights", nor of single classes
  const auto& series = plots.front().series;
  REQUIRE(series.size() == 3);
  CHECK(series[0].name == "test");
  CHECK(series[0].x == std::vector<double>{1});  // at the epoch of its weights
  CHECK(series[1].name == "train");
  CHECK(series[1].y == std::vector<double>{1.0, 0.8});
  CHECK(series[2].name == "train, evaluated");
  CHECK(series[2].x == std::vector<double>{1, 2});  // epochs, not steps
  CHECK(series[2].y == std::vector<double>{0.5, 0.4});
}
