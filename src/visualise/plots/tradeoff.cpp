#include "visualise/plots/tradeoff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"

namespace fovea::visualise {
namespace {

// What the scores of the sources are, each word once.
std::string scores_of(const std::vector<TradeoffSource>& sources) {
  std::vector<std::string> words;
  for (const TradeoffSource& source : sources) {
    if (std::find(words.begin(), words.end(), source.score) == words.end())
      words.push_back(source.score);
  }
  return fmt::format("{}", fmt::join(words, " / "));
}

// Then most points would lie in one corner of a linear axis.
bool spans_decade(const LinePlot& plot) {
  double low = INFINITY, high = 0;
  for (const Series& series : plot.series) {
    for (const double x : series.x) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  }
  return low > 0 && high > 10 * low;
}

LinePlot scatter(const std::vector<TradeoffSource>& sources, const std::string& x_label,
                 std::optional<double> TradeoffRow::*x, double unit) {
  LinePlot plot;
  plot.width = 620;
  plot.height = 420;
  plot.x_label = x_label;
  plot.y_label = scores_of(sources);
  for (const TradeoffSource& source : sources) {
    Series series;
    if (sources.size() > 1) series.name = source.name;
    for (const TradeoffRow& row : source.rows) {
      if (!(row.*x)) continue;
      series.x.push_back(*(row.*x) / unit);
      series.y.push_back(row.score);
      series.labels.push_back(row.name);
    }
    plot.series.push_back(std::move(series));
  }
  plot.log_x = spans_decade(plot);
  return plot;
}

bool is_empty(const LinePlot& plot) {
  return std::all_of(plot.series.begin(), plot.series.end(),
                     [](const Series& series) { return series.x.empty(); });
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

std::vector<LinePlot> tradeoff_plots(const std::vector<TradeoffSource>& sources) {
  std::vector<LinePlot> plots = {
      scatter(sources, "parameters (M)", &TradeoffRow::parameters, 1e6),
      scatter(sources, "multiply-adds (G)", &TradeoffRow::macs, 1e9),
      scatter(sources, "multiply-adds as the paper counts (G)", &TradeoffRow::macs_paper, 1e9),
      scatter(sources, "samples a second", &TradeoffRow::samples_per_s, 1)};
  std::erase_if(plots, is_empty);
  return plots;
}

std::string tradeoff_csv(const std::vector<TradeoffSource>& sources) {
  std::string text = "source,row,score,parameters,macs,macs_paper,samples_per_s,measured_on\n";
  for (const TradeoffSource& source : sources) {
    for (const TradeoffRow& row : source.rows) {
      text += fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(source.name), csv_field(row.name),
                          row.score, cell(row.parameters), cell(row.macs), cell(row.macs_paper),
                          cell(row.samples_per_s), csv_field(row.measured_on));
    }
  }
  return text;
}

void write_tradeoff(const std::filesystem::path& path, const std::vector<TradeoffSource>& sources) {
  const std::vector<LinePlot> plots = tradeoff_plots(sources);
  FOVEA_CHECK(!plots.empty(), ConfigError,
              "tradeoff: no row has a number of parameters or a cost beside its score");
  write_plots(path, plots, std::ssize(plots));
  std::filesystem::path csv = path;
  io::write_atomic(csv.replace_extension(".csv"), tradeoff_csv(sources));
}

}  // namespace fovea::visualise
