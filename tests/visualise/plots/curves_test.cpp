#include "visualise/plots/curves.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cmath>

#include "base/file.h"
#include "visualise/plots/plot_legend.h"

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
  const std::vector<metrics::MetricInfo> known = {metrics::kLoss,
                                                  {.name = "iou", .unit = "%"},
                                                  {.name = "dsc", .unit = "%"},
                                                  {.name = "dice_*"}};
  const std::vector<visualise::SeedRuns> runs = {{"", {{"", run, known}}}};
  const auto plots = visualise::learning_curves(runs).plots;
  const auto chosen = visualise::learning_curves(runs, {"dice_a", "loss"}).plots;
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[0].title == "loss");
  CHECK(chosen[1].title == "dice_a");
  CHECK_THROWS_WITH(visualise::learning_curves(runs, {"los"}),
                    Catch::Contains("--metric los: no run has it") &&
                        Catch::Contains("(known: dice_a, dsc, iou, loss, lr"));
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

namespace {

// A run of `epochs` epochs of two steps whose loss of val is `losses`, with a line of training
// each.
io::fs::path run_with(const io::fs::path& folder, const std::string& name,
                      const std::vector<double>& losses) {
  const io::fs::path run = folder / name;
  io::make_directories(run);
  std::string lines;
  for (std::size_t e = 0; e < losses.size(); ++e) {
    const std::string place =
        "{\"step\":" + std::to_string(2 * (e + 1)) + ",\"epoch\":" + std::to_string(e);
    lines += place + ",\"split\":\"train\",\"loss\":1,\"lr\":0.1,\"samples\":3,\"time_s\":1}\n";
    lines += place + ",\"split\":\"val\",\"loss\":" + std::to_string(losses[e]) + "}\n";
  }
  io::write_atomic(run / "metrics.jsonl", lines);
  return run;
}

}  // namespace

TEST_CASE("learning curves: a colour for each run, mean and band over its seeds", "[visualise]") {
  const io::fs::path folder =
      io::fs::temp_directory_path() / ("fovea_seeds_" + std::to_string(::getpid()));
  const std::vector<metrics::MetricInfo> known = {metrics::kLoss};
  const auto run = [&](const std::string& name, const std::vector<double>& losses) {
    return visualise::NamedRun{"", run_with(folder, name, losses), known};
  };
  // The second seed has come to an end earlier.
  const visualise::SeedRuns two = {"two", {run("a", {1, 2, 8}), run("b", {3, 2})}};
  const visualise::SeedRuns other = {"other", {run("c", {5, 4, 3})}};
  const auto alone = visualise::learning_curves({two});
  const auto both = visualise::learning_curves({two, other});
  io::fs::remove_all(folder);
  CHECK(alone.legend.empty());
  CHECK(alone.plots[0].series[1].name == "two, mean of 2 seeds, val");
  const visualise::Series& val = alone.plots[0].series[1];
  CHECK(val.x == std::vector<double>{1, 2});  // where both are
  CHECK(val.y == std::vector<double>{2, 2});
  CHECK(val.band[0] == Approx(std::sqrt(2.0)));
  CHECK(val.band[1] == 0);
  const auto& series = both.plots[0].series;  // train and val of both
  REQUIRE(series.size() == 4);
  CHECK(series[0].stroke->colour == series[1].stroke->colour);
  CHECK(series[0].stroke->dash != series[1].stroke->dash);
  CHECK(series[1].stroke->dash == series[3].stroke->dash);
  CHECK_FALSE(series[1].stroke->colour == series[3].stroke->colour);
  CHECK(series[3].band.empty());
  std::vector<std::string> names;
  for (const visualise::LegendLine& line : both.legend) names.push_back(line.name);
  CHECK(names == std::vector<std::string>{"two, mean of 2 seeds", "other", "train", "val"});
  for (const visualise::Series& one : series) CHECK(one.name.empty());  // of no legend of its own
}

TEST_CASE("learning curves: runs that are evaluated within epochs are drawn by step",
          "[visualise]") {
  const io::fs::path folder =
      io::fs::temp_directory_path() / ("fovea_curves_steps_" + std::to_string(::getpid()));
  io::make_directories(folder);
  io::write_atomic(folder / "metrics.jsonl", R"({"step":20,"epoch":1,"split":"val","loss":1.0}
{"step":40,"epoch":1,"split":"val","loss":0.5}
)");
  const auto plot_of = [&](const char* every) {
    io::write_atomic(folder / "config.json",
                     std::string(R"({"train": {"eval_every_steps": )") + every + "}}");
    return visualise::learning_curves({{"", {{"", folder, {metrics::kLoss}}}}}).plots.at(0);
  };
  const auto by_step = plot_of("20");
  CHECK(by_step.x_label == "step");
  CHECK(by_step.series.at(0).x == std::vector<double>{20, 40});
  CHECK(plot_of("0").x_label == "epoch");
  io::fs::remove_all(folder);
}

TEST_CASE("learning curves: the legend of many runs fits below them", "[visualise]") {
  std::vector<visualise::LegendLine> legend;
  for (int i = 0; i < 40; ++i)
    legend.push_back({"a run with a rather long name, number " + std::to_string(i), {}});
  visualise::LinePlot plot;
  plot.series = {{"", {1, 2}, {1, 2}, {}}};
  const std::vector<visualise::LinePlot> plots(4, plot);
  const visualise::Canvas bare = visualise::render(plots, 2, 1);
  const visualise::Canvas with = visualise::render(plots, 2, 1, legend);
  CHECK(with.width == bare.width);
  CHECK(with.height - bare.height == Approx(visualise::shared_legend_height(legend, 1120)));
  CHECK(with.height - bare.height < 40 * 17 / 2);  // in columns
  // Every name is there as it is.
  const std::string svg = visualise::to_svg(plots, 2, legend);
  for (const visualise::LegendLine& line : legend) CHECK(svg.find(line.name) != std::string::npos);
}
