#include "experiment/reports/curve_files.h"

#include "visualise/plots/count_bars.h"
#include "visualise/plots/plot.h"

namespace fovea::experiment {

void write_curves(const std::filesystem::path& folder, const std::string& title,
                  const std::vector<training::Curves>& all) {
  for (const training::Curves& curves : all) {
    visualise::LinePlot plot;
    plot.title = title;
    plot.x_label = curves.x_label;
    plot.y_label = curves.y_label;
    plot.y_low = curves.y_low;
    plot.y_high = curves.y_high;
    for (const training::Curve& curve : curves.curves)
      plot.series.push_back({.name = curve.name, .x = curve.x, .y = curve.y, .band = {}});
    visualise::write_png(folder / (curves.name + ".png"), visualise::render(plot));
  }
}

void write_bars(const std::filesystem::path& folder, const std::string& title,
                const std::vector<training::Bars>& all) {
  for (const training::Bars& bars : all) {
    visualise::write_png(folder / (bars.name + ".png"),
                         visualise::render(visualise::CountBars{.title = title,
                                                                .label = bars.label,
                                                                .names = bars.kinds,
                                                                .parts = bars.classes,
                                                                .counts = bars.counts}));
  }
}

}  // namespace fovea::experiment
