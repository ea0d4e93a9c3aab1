#include "experiment/reports/prediction_table.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/csv_field.h"

namespace fovea::experiment {
namespace {

// A network may have more outputs than the data set has classes.
std::string class_cell(const std::vector<std::string>& classes, std::int64_t index) {
  return index < std::ssize(classes) ? csv_field(classes[static_cast<std::size_t>(index)])
                                     : fmt::format("output {}", index);
}

}  // namespace

std::string prediction_heads(const std::vector<std::string>& classes, bool class_columns) {
  std::string heads = "name,file,label,label_index,prediction,prediction_index,probability,index";
  if (!class_columns) return heads;
  for (const std::string& name : classes) heads += "," + csv_field(name);
  return heads;
}

std::string prediction_line(const PredictionRow& row, const std::vector<std::string>& classes,
                            bool class_columns) {
  std::string line = fmt::format("{},{},", csv_field(row.name), csv_field(row.file));
  line += row.label ? fmt::format("{},{},", class_cell(classes, *row.label), *row.label) : ",,";
  line += fmt::format("{},{},{},{}", class_cell(classes, row.prediction), row.prediction,
                      row.probabilities[static_cast<std::size_t>(row.prediction)], row.index);
  if (!class_columns) return line;
  for (std::size_t c = 0; c < classes.size(); ++c) line += fmt::format(",{}", row.probabilities[c]);
  return line;
}

}  // namespace fovea::experiment
