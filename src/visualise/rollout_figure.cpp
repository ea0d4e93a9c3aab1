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

// The column with a value for every pixel.
HeatColumn drawn(const RolloutColumn& column, const RolloutFigure& f) {
  HeatColumn pixels = column.heat;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    const Matrix grid = as_grid(column.heat.values[i], column.grid_h, column.grid_w);
    pixels.values[i] = heat_map(grid, f.inputs[i].height, f.inputs[i].width, f.smooth).values;
  }
  return pixels;
}

}  // namespace

Canvas render(const RolloutFigure& figure) {
  check(figure);
  // Limits are those of what is drawn: smooth maps do not reach the values of single patches.
  std::vector<HeatColumn> heats;
  for (const RolloutColumn& column : figure.columns) heats.push_back(drawn(column, figure));
  const auto limits = limits_of(heats, figure.scale);
  Montage montage;
  montage.title = figure.title;
  montage.factor = figure.factor;
  montage.row_labels = figure.names;
  montage.column_labels.push_back("input");
  for (const Canvas& input : figure.inputs) montage.rows.push_back({input});
  for (std::size_t k = 0; k < figure.columns.size(); ++k) {
    const ColourMap palette = palette_of(heats[k].quantity, figure.sequential);
    montage.column_labels.push_back(heats[k].name);
    for (std::size_t i = 0; i < figure.inputs.size(); ++i) {
      const Canvas& input = figure.inputs[i];
      const Matrix heat = as_grid(heats[k].values[i], input.height, input.width);
      const Limits& ends = limits[k][i];
      montage.rows[i].push_back(overlay(
          colourise(scale_between(heat, ends.low, ends.high), palette), input, figure.overlay));
    }
    MontageBar bar;
    bar.bar = bar_of(heats[k], limits[k], figure.scale, figure.sequential);
    bar.side = MontageBar::Side::kBelow;
    bar.first = static_cast<std::int64_t>(k) + 1;
    bar.count = 1;
    montage.bars.push_back(std::move(bar));
  }
  return render(montage);
}

}  // namespace fovea::visualise
