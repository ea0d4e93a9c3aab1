#include "experiment/reports/prediction_table.h"

#include <fmt/format.h>

#include <cstddef>

namespace fovea::experiment {
namespace {

// A network may have more outputs than the data set has classes.
std::string class_cell(const std::vector<std::string>& classes, std::int64_t index) {
  return index < std::ssize(classes) ? classes[static_cast<std::size_t>(index)]
                                     : fmt::format("output {}", index);
}

}  // namespace

ResultHeads prediction_heads(const std::vector<std::string>& classes, bool class_columns) {
  ResultHeads heads{{"name", "file", "label", "label_index", "prediction", "prediction_index",
                     "probability", "index"}};
  if (class_columns) heads.classes = classes;
  return heads;
}

ResultRow prediction_cells(const PredictionRow& row, const std::vector<std::string>& classes,
                           bool class_columns) {
  ResultRow cells{row.name, row.file, {}, {}};
  if (row.label) {
    cells[2] = class_cell(classes, *row.label);
    cells[3] = *row.label;
  }
  cells.push_back(class_cell(classes, row.prediction));
  cells.push_back(row.prediction);
  cells.push_back(row.probabilities[static_cast<std::size_t>(row.prediction)]);
  cells.push_back(row.index);
  for (std::size_t c = 0; class_columns && c < classes.size(); ++c)
    cells.push_back(row.probabilities[c]);
  return cells;
}

}  // namespace fovea::experiment
