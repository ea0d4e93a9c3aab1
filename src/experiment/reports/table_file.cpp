#include "experiment/reports/table_file.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "base/csv_field.h"

namespace fovea::experiment {
namespace {

std::string cell_of(std::int64_t value) { return fmt::format("{}", value); }
std::string cell_of(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{}", value);
}
std::string cell_of(const std::string& value) { return csv_field(value); }

}  // namespace

std::string csv_text(const training::Table& table) {
  std::string text;
  for (const training::Column& column : table.columns)
    text += (text.empty() ? "" : ",") + csv_field(column.name);
  text += "\n";
  const auto count = [](const auto& values) { return values.size(); };
  const std::size_t rows = std::visit(count, table.columns.front().values);
  for (std::size_t row = 0; row < rows; ++row) {
    const char* comma = "";
    for (const training::Column& column : table.columns) {
      text += comma;
      text += std::visit([&](const auto& values) { return cell_of(values[row]); }, column.values);
      comma = ",";
    }
    text += "\n";
  }
  return text;
}

}  // namespace fovea::experiment
