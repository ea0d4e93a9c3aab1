#include "experiment/reports/attention/attention_plots.h"

#include <algorithm>
#include <cmath>

#include "visualise/drawing/colour_map.h"
#include "visualise/layouts/label_overlay.h"

namespace fovea::experiment {
namespace {

using explain::DiagnosedMetric;
using explain::DiagnosedRuns;
using visualise::Series;

// Different for every run, however many there are.
visualise::Colour colour_of(std::size_t run) {
  const auto number = static_cast<std::int64_t>(run);
  return run < 7 ? visualise::palette_colour(number) : visualise::class_colour(number);
}

visualise::Colour paler(visualise::Colour colour) {
  const auto half = [](std::uint8_t c) { return static_cast<std::uint8_t>((c + 255) / 2); };
  return {half(colour.r), half(colour.g), half(colour.b)};
}

Series heads_of(const DiagnosedMetric& one, visualise::Colour colour) {
  Series dots;
  dots.stroke = visualise::Stroke{paler(colour), 1.8, {}};
  for (std::size_t layer = 0; layer < one.values.size(); ++layer) {
    for (const std::vector<double>& head : one.values[layer]) {
      dots.x.push_back(static_cast<double>(layer));
      dots.y.push_back(estimate_of(head).mean);
      dots.labels.emplace_back();
    }
  }
  return dots;
}

Series mean_of(const DiagnosedMetric& one, visualise::Colour colour) {
  Series line;
  line.stroke = visualise::Stroke{colour, 1.8, {}};
  line.dots = !one.metric->by_head();
  for (std::size_t layer = 0; layer < one.values.size(); ++layer) {
    const metrics::Estimate e = estimate_of(one.of_layer(layer));
    line.x.push_back(static_cast<double>(layer));
    line.y.push_back(e.mean);
    line.band.push_back(e.n > 1 ? e.high - e.mean : 0);
  }
  return line;
}

}  // namespace

metrics::Estimate estimate_of(const std::vector<double>& samples) {
  std::vector<double> defined;
  std::ranges::copy_if(samples, std::back_inserter(defined),
                       [](double value) { return !std::isnan(value); });
  return metrics::estimate(defined);
}

std::vector<visualise::LinePlot> attention_plots(const DiagnosedRuns& diagnosed) {
  std::vector<visualise::LinePlot> plots;
  for (std::size_t m = 0; m < diagnosed.runs.front().metrics.size(); ++m) {
    const explain::AttentionMetric& metric = *diagnosed.runs.front().metrics[m].metric;
    visualise::LinePlot plot;
    plot.title = metric.info.name;
    plot.x_label = metric.of_tokens != nullptr ? "block" : "layer";
    plot.y_label = metric.info.unit;
    plot.width = 360;
    plot.height = 260;
    for (std::size_t r = 0; r < diagnosed.runs.size(); ++r) {
      const DiagnosedMetric& one = diagnosed.runs[r].metrics[m];
      if (!one.defined()) continue;
      if (metric.by_head()) plot.series.push_back(heads_of(one, colour_of(r)));
    }
    for (std::size_t r = 0; r < diagnosed.runs.size(); ++r) {
      const DiagnosedMetric& one = diagnosed.runs[r].metrics[m];
      if (one.defined()) plot.series.push_back(mean_of(one, colour_of(r)));
    }
    plots.push_back(std::move(plot));
  }
  return plots;
}

void write_attention_plots(const std::filesystem::path& path, const DiagnosedRuns& diagnosed) {
  std::vector<visualise::LegendLine> legend;
  for (std::size_t r = 0; r < diagnosed.runs.size() && diagnosed.runs.size() > 1; ++r)
    legend.push_back({diagnosed.runs[r].title, {colour_of(r), 1.8, {}}});
  const std::vector<visualise::LinePlot> plots = attention_plots(diagnosed);
  visualise::write_plots(path, plots, std::min<std::int64_t>(4, std::ssize(plots)), legend);
}

}  // namespace fovea::experiment
