#include "experiment/reports/explanations/score_curves.h"

#include <string>
#include <utility>

#include "visualise/plots/plot.h"
#include "visualise/plots/plot_legend.h"

namespace fovea::experiment {

using explain::ScoredRuns;
using explain::ScoreRow;
using explain::SeedRow;

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

std::string title_of(const ScoredRuns& scored, const ScoreRow& row) {
  return scored.runs.size() == 1 ? "" : scored.runs[row.run].title;
}
std::string title_of(const ScoredRuns&, const SeedRow& row) { return row.configuration; }

bool together(const ScoreRow& a, const ScoreRow& b) { return a.run == b.run; }
bool together(const SeedRow& a, const SeedRow& b) { return a.runs == b.runs; }

// A plot for each score and for the rows that stand together.
template <class Row>
std::vector<visualise::LinePlot> plots_of(const ScoredRuns& scored, const std::vector<Row>& rows,
                                          const char* y_label) {
  std::vector<visualise::LinePlot> plots;
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    while (end < rows.size() && together(rows[end], rows[first])) ++end;
    const std::string name = title_of(scored, rows[first]);
    for (std::size_t s = 0; s < scored.scores.size(); ++s) {
      visualise::LinePlot plot;
      plot.title = (name.empty() ? "" : name + ": ") + scored.scores[s].score->name;
      plot.x_label = "share of changed units";
      plot.y_label = y_label;
      for (std::size_t r = first; r < end; ++r) {
        const auto curve = explain::mean_curve(scored, rows[r], s);
        if (curve)
          plot.series.push_back({rows[r].method, curve->shares, curve->mean, curve->half_width});
      }
      if (!plot.series.empty()) plots.push_back(std::move(plot));
    }
  }
  return plots;
}

}  // namespace

bool write_score_curves(const std::filesystem::path& path, const ScoredRuns& scored,
                        const std::vector<ScoreRow>& rows, const std::vector<SeedRow>& over_seeds) {
  std::vector<visualise::LinePlot> plots = over_seeds.empty()
                                               ? plots_of(scored, rows, "mean over samples")
                                               : plots_of(scored, over_seeds, "mean over runs");
  if (plots.empty()) return false;
  std::vector<visualise::LegendLine> legend;
  if (plots.size() > 1) legend = take_legend(plots);
  visualise::write_plots(path, plots, plots.size() == 1 ? 1 : 2, legend);
  return true;
}

}  // namespace fovea::experiment
