#include "visualise/layouts/rollout_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"

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

// The limits of nothing are numbers that no place has.
bool is_nothing(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
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
  const bool own_limits = figure.scale.sharing == HeatSharing::kImage && figure.inputs.size() > 1;
  for (const Canvas& input : figure.inputs) {
    montage.rows.push_back({input});
    if (own_limits) montage.captions.push_back({""});
  }
  for (std::size_t k = 0; k < figure.columns.size(); ++k) {
    const RolloutColumn& column = figure.columns[k];
    const ColourMap palette = palette_of(heats[k].quantity, figure.sequential, figure.scale.ends);
    montage.column_labels.push_back(heats[k].name);
    for (std::size_t i = 0; i < figure.inputs.size(); ++i) {
      const Canvas& input = figure.inputs[i];
      const Matrix grid = as_grid(heats[k].values[i], column.grid_h, column.grid_w);
      const Matrix heat = heat_map(grid, input.height, input.width, figure.smooth);
      montage.rows[i].push_back(
          overlay(colourise(positions_of(heat, limits[k][i]), palette), input, figure.overlay));
      if (own_limits)
        montage.captions[i].push_back(
            is_nothing(heats[k].values[i])
                ? "0 everywhere"
                : limits_text(limits[k][i], figure.scale.ends, heats[k].even));
    }
    montage.bars.push_back(
        bar_below(bar_of(heats[k], limits[k], figure.scale, figure.sequential, heats.size()),
                  static_cast<std::int64_t>(k) + 1, 1));
  }
  return render(montage);
}

}  // namespace fovea::visualise
