#include "visualise/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "schema/parse.h"

namespace fovea::visualise {
namespace {

using schema::Value;

// Curves of one run by quantity (a metric, "lr", ...) and split.
using Curves = std::map<std::string, std::map<std::string, Series>>;

const std::vector<std::string> kNotPlotted = {"step",          "epoch",  "split",     "samples",
                                              "samples_per_s", "time_s", "nonfinite", "weights"};

Curves read_run(const NamedRun& run) {
  const io::fs::path path = run.folder / "metrics.jsonl";
  std::istringstream lines(io::read_text(path));
  Curves curves;
  std::string line;
  // Training lines name the epoch they are in; where in it, only the step tells.
  double steps_per_epoch = 0;
  for (int number = 1; std::getline(lines, line); ++number) {
    Value record;
    try {
      record = schema::parse(line, fmt::format("{} line {}", path.string(), number));
    } catch (const ConfigError& error) {
      throw FileError(error.what());
    }
    std::string split = record.at("split").as_string();
    const double step = record.at("step").as_double();
    const bool evaluation = record.find("samples") == nullptr;
    // The loss of the loop is that of other weights, with dropout and augmentation.
    if (evaluation && split == "train") split = "train, evaluated";
    if (evaluation && steps_per_epoch == 0) {
      steps_per_epoch = step / (record.at("epoch").as_double() + 1);
    }
    for (const auto& [key, value, origin] : record.members()) {
      if (std::find(kNotPlotted.begin(), kNotPlotted.end(), key) != kNotPlotted.end()) continue;
      Series& series = curves[key][split];
      series.x.push_back(step);
      series.y.push_back(value.is_number() ? value.as_double() : std::nan(""));
    }
  }
  for (auto& [key, splits] : curves) {
    for (auto& [split, series] : splits) {
      series.name = run.name.empty() ? split : fmt::format("{}, {}", run.name, split);
      for (double& x : series.x) x /= steps_per_epoch > 0 ? steps_per_epoch : 1;
    }
  }
  return curves;
}

std::string label_of(const std::string& key, const metrics::MetricInfo* metric) {
  if (metric != nullptr) return metrics::title_of(*metric);
  if (key == "lr") return "learning rate";
  if (key == "grad_norm") return "gradient norm";
  return key;
}

}  // namespace

std::vector<LinePlot> learning_curves(const std::vector<NamedRun>& runs) {
  std::map<std::string, LinePlot> plots;
  std::vector<std::string> first;  // names of metrics
  for (const NamedRun& run : runs) {
    for (const metrics::MetricInfo& metric : run.metrics) first.push_back(metric.name);
    for (auto& [key, splits] : read_run(run)) {
      const metrics::MetricInfo* metric = metrics::find_metric(run.metrics, key);
      if (metric != nullptr && metrics::is_of_classes(*metric)) continue;  // one a class
      LinePlot& plot = plots[key];
      plot.title = label_of(key, metric);
      plot.x_label = "epoch";
      plot.y_label = plot.title;
      for (auto& [split, series] : splits) plot.series.push_back(std::move(series));
    }
  }
  FOVEA_CHECK(!plots.empty(), FileError, "learning curves: the logs have no lines yet");
  std::vector<LinePlot> ordered;
  for (const std::string& key : first) {
    if (const auto found = plots.find(key); found != plots.end()) {
      ordered.push_back(std::move(found->second));
      plots.erase(found);
    }
  }
  for (auto& [key, plot] : plots) ordered.push_back(std::move(plot));
  return ordered;
}

void write_curves(const std::filesystem::path& path, const std::vector<NamedRun>& runs) {
  check_plot_path(path);
  write_plots(path, learning_curves(runs), 2);
}

}  // namespace fovea::visualise
