#include "visualise/plots/curves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "schema/json/parse.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/layouts/label_overlay.h"

namespace fovea::visualise {
namespace {

using schema::Value;

// Curves of one run by quantity (a metric, "lr", ...) and split.
using Curves = std::map<std::string, std::map<std::string, Series>>;

const std::vector<std::string> kNotPlotted = {"step",      "epoch",         "split",
                                              "samples",   "samples_per_s", "time_s",
                                              "nonfinite", "weights",       "compared"};

// Whether a run counts its evaluations by steps, within epochs (train.eval_every_steps).
bool evaluates_by_steps(const NamedRun& run) {
  const io::fs::path path = run.folder / "config.json";
  if (!io::exists_at_all(path)) return false;
  const Value config = schema::parse(io::read_text(path), path.string());
  const Value* const train = config.find("train");
  const Value* const every = train == nullptr ? nullptr : train->find("eval_every_steps");
  return every != nullptr && every->is_number() && every->as_double() > 0;
}

// By epoch, or by step.
Curves read_run(const NamedRun& run, bool by_step) {
  const io::fs::path path = run.folder / "metrics.jsonl";
  std::istringstream lines(io::read_text(path));
  Curves curves;
  std::string line;
  // Training lines name the epoch they are in; where in it, only the step tells.
  double steps_per_epoch = 0;
  double first_epoch = -1;  // as the log counts: from 1, those of older programs from 0
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
    const double epoch = record.at("epoch").as_double();
    if (!evaluation && first_epoch < 0) first_epoch = epoch > 0 ? 1 : 0;
    if (evaluation && steps_per_epoch == 0) {
      steps_per_epoch = step / (epoch + (first_epoch == 0 ? 1 : 0));
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
      for (double& x : series.x) x /= !by_step && steps_per_epoch > 0 ? steps_per_epoch : 1;
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

// One quantity of one part, of runs that differ in their seed.
Series over_seeds(const std::vector<Series>& seeds) {
  if (seeds.size() == 1) return seeds.front();
  std::map<double, std::vector<double>> values;  // by epoch or step
  for (const Series& seed : seeds) {
    for (std::size_t i = 0; i < seed.x.size(); ++i) values[seed.x[i]].push_back(seed.y[i]);
  }
  const auto n = static_cast<double>(seeds.size());
  Series result;
  for (const auto& [x, ys] : values) {
    if (ys.size() != seeds.size()) continue;
    double mean = 0, squares = 0;
    for (const double y : ys) mean += y / n;
    for (const double y : ys) squares += (y - mean) * (y - mean);
    result.x.push_back(x);
    result.y.push_back(mean);
    result.band.push_back(std::sqrt(squares / (n - 1)));
  }
  return result;
}

// The curves of runs that differ in their seed; what not all of them have is left out.
Curves read_seeds(const SeedRuns& group, bool by_step) {
  std::map<std::string, std::map<std::string, std::vector<Series>>> all;
  for (const NamedRun& run : group.runs) {
    for (auto& [key, splits] : read_run(run, by_step)) {
      const std::string name = metrics::current_name(run.metrics, key);
      for (auto& [split, series] : splits) all[name][split].push_back(std::move(series));
    }
  }
  Curves curves;
  for (const auto& [key, splits] : all) {
    for (const auto& [split, seeds] : splits) {
      if (seeds.size() == group.runs.size()) curves[key][split] = over_seeds(seeds);
    }
  }
  return curves;
}

std::string name_with_seeds(const SeedRuns& group) {
  if (group.runs.size() == 1) return group.name;
  return fmt::format("{}{}mean of {} seeds", group.name, group.name.empty() ? "" : ", ",
                     group.runs.size());
}

// Different for every run, however many there are.
Colour run_colour(std::size_t k) {
  const auto number = static_cast<std::int64_t>(k);
  return k < 7 ? palette_colour(number) : class_colour(number);
}

std::vector<double> dashes_of(const std::string& split) {
  if (split == "train") return {1.5, 3};
  if (split == "test") return {6, 4};
  return split == "val" ? std::vector<double>{} : std::vector<double>{8, 3, 1.5, 3};
}

// The legend of several runs: a colour for each, dashes for each part.
std::vector<LegendLine> legend_of_runs(const std::vector<SeedRuns>& runs,
                                       const std::set<std::string>& splits) {
  constexpr double kWidth = 1.8;
  std::vector<LegendLine> legend;
  for (std::size_t k = 0; k < runs.size(); ++k)
    legend.push_back({name_with_seeds(runs[k]), {run_colour(k), kWidth, {}}});
  for (const std::string& split : splits)
    legend.push_back({split, {kInk, kWidth, dashes_of(split)}});
  return legend;
}

class Quantities {
 public:
  explicit Quantities(const std::vector<SeedRuns>& runs) {
    for (const SeedRuns& group : runs) {
      for (const NamedRun& run : group.runs)
        known_.insert(known_.end(), run.metrics.begin(), run.metrics.end());
    }
  }
  // Metrics in their order, then the rest.
  std::vector<std::string> ordered(const std::map<std::string, LinePlot>& plots) const {
    std::vector<std::string> keys;
    const auto add = [&](const std::string& key) {
      if (plots.contains(key) && std::find(keys.begin(), keys.end(), key) == keys.end())
        keys.push_back(key);
    };
    for (const metrics::MetricInfo& metric : known_) add(metric.name);
    for (const auto& [key, plot] : plots) add(key);
    return keys;
  }
  const metrics::MetricInfo* find(const std::string& key) const {
    return metrics::find_metric(known_, key);
  }

 private:
  std::vector<metrics::MetricInfo> known_;
};

void check_wanted(const std::vector<std::string>& wanted, const std::set<std::string>& there) {
  for (const std::string& name : wanted) {
    const std::vector<std::string> known(there.begin(), there.end());
    FOVEA_CHECK(there.contains(name), ConfigError,
                fmt::format("--metric {}: no run has it{} (known: {})", name,
                            did_you_mean(name, known), fmt::join(known, ", ")));
  }
}

}  // namespace

LearningCurves learning_curves(const std::vector<SeedRuns>& runs,
                               const std::vector<std::string>& wanted) {
  const Quantities quantities(runs);
  const bool several = runs.size() > 1;
  const bool by_step = std::any_of(runs.begin(), runs.end(), [](const SeedRuns& group) {
    return std::any_of(group.runs.begin(), group.runs.end(), evaluates_by_steps);
  });
  std::map<std::string, LinePlot> plots;
  std::set<std::string> splits_seen, keys;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    for (auto& [key, splits] : read_seeds(runs[k], by_step)) {
      const metrics::MetricInfo* metric = quantities.find(key);
      keys.insert(key);
      const bool chosen = std::find(wanted.begin(), wanted.end(), key) != wanted.end();
      const bool of_class = metric != nullptr && metrics::is_of_classes(*metric);  // one a class
      if (wanted.empty() ? of_class : !chosen) continue;
      LinePlot& plot = plots[key];
      plot.title = of_class ? key : label_of(key, metric);
      plot.x_label = by_step ? "step" : "epoch";
      plot.y_label = plot.title;
      for (auto& [split, series] : splits) {
        splits_seen.insert(split);
        if (several) {
          series.stroke = Stroke{run_colour(k), 1.8, dashes_of(split)};
        } else {
          const std::string name = name_with_seeds(runs[k]);
          series.name = name.empty() ? split : fmt::format("{}, {}", name, split);
        }
        plot.series.push_back(std::move(series));
      }
    }
  }
  FOVEA_CHECK(!keys.empty(), FileError, "learning curves: the logs have no lines yet");
  check_wanted(wanted, keys);
  LearningCurves curves;
  for (const std::string& key : quantities.ordered(plots))
    curves.plots.push_back(std::move(plots[key]));
  if (several) curves.legend = legend_of_runs(runs, splits_seen);
  return curves;
}

void write_curves(const std::filesystem::path& path, const std::vector<SeedRuns>& runs,
                  const std::vector<std::string>& wanted) {
  check_plot_path(path);
  const LearningCurves curves = learning_curves(runs, wanted);
  write_plots(path, curves.plots, curves.plots.size() == 1 ? 1 : 2, curves.legend);
}

}  // namespace fovea::visualise
