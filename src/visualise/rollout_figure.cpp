#include "visualise/rollout_figure.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "visualise/heatmap.h"
#include "visualise/montage.h"

namespace fovea::visualise {
namespace {

void check(const RolloutFigure& f) {
  FOVEA_CHECK(!f.inputs.empty() && f.names.size() == f.inputs.size() && !f.columns.empty(),
              ShapeError,
              fmt::format("rollout figure: {} inputs, {} names and {} networks; expected at least "
                          "one input, a name for each and one network",
                          f.inputs.size(), f.names.size(), f.columns.size()));
  for (const RolloutColumn& column : f.columns) {
    FOVEA_CHECK(column.heat.values.size() == f.inputs.size(), ShapeError,
                fmt::format("rollout figure: {} has weights of {} inputs; expected {}",
                            column.heat.name, column.heat.values.size(), f.inputs.size()));
  }
}

}  // namespace

Canvas render(const RolloutFigure& figure) {
  check(figure);
  std::vector<HeatColumn> heats;
  for (const RolloutColumn& column : figure.columns) heats.push_back(column.heat);
  const auto limits = limits_of(heats, figure.scale);
  Montage montage;
  montage.title = figure.title;
  montage.factor = figure.factor;
  montage.row_labels = figure.names;
  montage.column_labels.push_back("input");
  for (const Canvas& input : figure.inputs) montage.rows.push_back({input});
  for (std::size_t k = 0; k < figure.columns.size(); ++k) {
    const RolloutColumn& column = figure.columns[k];
    const ColourMap palette = palette_of(column.heat.quantity, figure.sequential);
    montage.column_labels.push_back(column.heat.name);
    for (std::size_t i = 0; i < figure.inputs.size(); ++i) {
      const Canvas& input = figure.inputs[i];
      const Matrix grid = as_grid(column.heat.values[i], column.grid_h, column.grid_w);
      const Matrix heat = heat_map(grid, input.height, input.width, figure.smooth);
      const Limits& ends = limits[k][i];
      montage.rows[i].push_back(overlay(
          colourise(scale_between(heat, ends.low, ends.high), palette), input, figure.overlay));
    }
    MontageBar bar;
    bar.bar = bar_of(column.heat, limits[k], figure.scale, figure.sequential);
    bar.side = MontageBar::Side::kBelow;
    bar.first = static_cast<std::int64_t>(k) + 1;
    bar.count = 1;
    montage.bars.push_back(std::move(bar));
  }
  return render(montage);
}

}  // namespace fovea::visualise
