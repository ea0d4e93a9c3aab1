#include "explain/scored/on_units.h"

#include <span>

namespace fovea::explain {

Units units_of(const Subject& subject) { return units_of(subject.grid(), subject.size()); }

std::vector<double> on_units(const Explanation& found, std::int64_t i, const Units& units) {
  const GridSize grid = found.grid;
  const auto values =
      std::span(found.values).subspan(as_index(i * grid.count()), as_index(grid.count()));
  if (grid.h >= units.rows && grid.w >= units.cols)
    return Units(units.rows, units.cols, grid.h, grid.w).pooled(values);
  std::vector<double> relevance;
  for (std::int64_t row = 0; row < units.rows; ++row) {
    for (std::int64_t col = 0; col < units.cols; ++col) {
      const std::int64_t y = (2 * row + 1) * grid.h / (2 * units.rows);
      const std::int64_t x = (2 * col + 1) * grid.w / (2 * units.cols);
      relevance.push_back(values[as_index(y * grid.w + x)]);
    }
  }
  return relevance;
}

}  // namespace fovea::explain
