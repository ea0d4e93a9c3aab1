#include "experiment/reports/explanations/score_curves.h"

#include <fmt/format.h>

#include "visualise/plots/plot.h"
#include "visualise/plots/plot_legend.h"

namespace fovea::experiment {

using explain::ScoredRuns;
using explain::ScoreRow;

namespace {

// The methods of several plots, which are the same in each, out of the plots.
std::vector<visualise::LegendLine> take_legend(std::vector<visualise::LinePlot>& plots) {
  std::vector<visualise::LegendLine> legend;
  const visualise::LinePlot& first = plots.front();
  for (std::size_t i = 0; i < first.series.size(); ++i)
    legend.push_back({first.series[i].name, visualise::series_stroke(first, i)});
  for (visualise::LinePlot& plot : plots) {
    for (visualise::Series& series : plot.series) series.name.clear();
  }
  return legend;
}

}  // namespace

bool write_score_curves(const std::filesystem::path& path, const ScoredRuns& scored,
                        const std::vector<ScoreRow>& rows) {
  std::vector<visualise::LinePlot> plots;
  for (std::size_t r = 0; r < scored.runs.size(); ++r) {
    for (std::size_t s = 0; s < scored.scores.size(); ++s) {
      visualise::LinePlot plot;
      plot.title = scored.runs.size() == 1
                       ? scored.scores[s].score->name
                       : fmt::format("{}: {}", scored.runs[r].title, scored.scores[s].score->name);
      plot.x_label = "share of changed units";
      plot.y_label = "mean over samples";
      for (const ScoreRow& row : rows) {
        if (row.run != r) continue;
        const auto curve = explain::mean_curve(scored, row, s);
        if (curve)
          plot.series.push_back({row.method, curve->shares, curve->mean, curve->half_width});
      }
      if (!plot.series.empty()) plots.push_back(std::move(plot));
    }
  }
  if (plots.empty()) return false;
  std::vector<visualise::LegendLine> legend;
  if (plots.size() > 1) legend = take_legend(plots);
  visualise::write_plots(path, plots, plots.size() == 1 ? 1 : 2, legend);
  return true;
}

}  // namespace fovea::experiment
