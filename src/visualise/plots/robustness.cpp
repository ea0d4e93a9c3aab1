#include "visualise/plots/robustness.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"

namespace fovea::visualise {
namespace {

std::string text_of(const SeedSpread& spread, int digits) {
  if (spread.n < 2) return fmt::format("{:.{}f}", spread.mean, digits);
  return fmt::format("{:.{}f} ± {:.{}f}", spread.mean, digits, spread.std, digits);
}

Series curve(const RobustnessRow& row, const std::vector<double>& levels,
             const std::vector<SeedSpread>& noisy) {
  Series series;
  series.name = row.name;
  const auto add = [&](double level, const SeedSpread& spread) {
    series.x.push_back(level);
    series.y.push_back(spread.mean);
    if (row.clean.n > 1) series.band.push_back(spread.std);
  };
  add(0, row.clean);
  for (std::size_t l = 0; l < levels.size(); ++l) add(levels[l], noisy[l]);
  return series;
}

LinePlot plot_of(const std::string& title, const metrics::MetricInfo& metric) {
  LinePlot plot;
  plot.title = title;
  plot.x_label = "level";
  plot.y_label = metrics::title_of(metric);
  return plot;
}

}  // namespace

std::vector<std::vector<std::string>> robustness_table(const Robustness& r) {
  std::vector<std::vector<std::string>> table{{metrics::title_of(r.metric), "clean"}};
  table[0].insert(table[0].end(), r.types.begin(), r.types.end());
  table[0].insert(table[0].end(), {"mean", "retention"});
  for (const RobustnessRow& row : r.rows) {
    std::vector<std::string> cells{row.name, text_of(row.clean, r.metric.decimals)};
    for (const SeedSpread& type : row.by_type) cells.push_back(text_of(type, r.metric.decimals));
    cells.push_back(text_of(row.mean, r.metric.decimals));
    cells.push_back(text_of(row.retention, 3));
    table.push_back(std::move(cells));
  }
  return table;
}

std::string robustness_csv(const Robustness& r) {
  std::string text = fmt::format("run,type,level,{0}_mean,{0}_std,n\n", r.metric.name);
  for (const RobustnessRow& row : r.rows) {
    const auto add = [&](const std::string& type, double level, const SeedSpread& spread) {
      text += fmt::format("{},{},{},{},{},{}\n", csv_field(row.name), type, level, spread.mean,
                          spread.n > 1 ? fmt::format("{}", spread.std) : "", spread.n);
    };
    add("clean", 0, row.clean);
    for (std::size_t t = 0; t < r.types.size(); ++t) {
      for (std::size_t l = 0; l < r.levels.size(); ++l)
        add(r.types[t], r.levels[l], row.noisy[t][l]);
    }
  }
  return text;
}

std::vector<LinePlot> robustness_plots(const Robustness& r) {
  std::vector<LinePlot> plots;
  for (std::size_t t = 0; t < r.types.size(); ++t) {
    LinePlot plot = plot_of(r.types[t], r.metric);
    for (const RobustnessRow& row : r.rows)
      plot.series.push_back(curve(row, r.levels, row.noisy[t]));
    plots.push_back(std::move(plot));
  }
  if (r.types.size() < 2) return plots;
  LinePlot plot = plot_of("mean over types", r.metric);
  for (const RobustnessRow& row : r.rows) plot.series.push_back(curve(row, r.levels, row.by_level));
  plots.push_back(std::move(plot));
  return plots;
}

void write_robustness(const std::filesystem::path& path, const Robustness& robustness) {
  const auto plots = robustness_plots(robustness);
  write_plots(path, plots, std::min<std::int64_t>(3, std::ssize(plots)));
  std::filesystem::path csv = path;
  io::write_atomic(csv.replace_extension(".csv"), robustness_csv(robustness));
}

}  // namespace fovea::visualise
