#include "experiment/reports/result_line.h"

#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/suggest.h"
#include "schema/json/value.h"

namespace fovea::experiment {
namespace {

std::string json_text(const std::string& text) { return schema::Value(text).dump(0); }

}  // namespace

std::string_view ending_of(TableFormat format) {
  return format == TableFormat::kCsv ? "csv" : "jsonl";
}

TableFormat table_format(const std::string& ending, const std::string& where) {
  for (const TableFormat format : {TableFormat::kCsv, TableFormat::kJsonl}) {
    if (ending == ending_of(format)) return format;
  }
  throw ConfigError(fmt::format("{} {}: no format of that name{} (known: csv, jsonl)", where,
                                ending, did_you_mean(ending, {"csv", "jsonl"})));
}

ResultCell::ResultCell(std::int64_t number)
    : text_(fmt::format("{}", number)), kind_(Kind::kNumber) {}
ResultCell::ResultCell(float number) : text_(fmt::format("{}", number)), kind_(Kind::kNumber) {}
ResultCell::ResultCell(double number) : text_(fmt::format("{}", number)), kind_(Kind::kNumber) {}

std::string ResultCell::csv() const { return kind_ == Kind::kText ? csv_field(text_) : text_; }

std::string ResultCell::json() const {
  if (kind_ == Kind::kText) return json_text(text_);
  const bool finite = text_.find_first_of("in") == std::string::npos;  // inf, nan
  return kind_ == Kind::kNumber && finite ? text_ : "null";
}

std::string csv_line(const ResultHeads& heads) {
  ResultRow row(heads.columns.begin(), heads.columns.end());
  row.insert(row.end(), heads.classes.begin(), heads.classes.end());
  return csv_line(row);
}

std::string csv_line(const ResultRow& row) {
  std::string line;
  for (const ResultCell& cell : row) {
    if (&cell != &row.front()) line += ',';
    line += cell.csv();
  }
  return line + "\n";
}

std::string json_line(const ResultHeads& heads, const ResultRow& row) {
  std::string line = "{";
  std::size_t at = 0;
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (&name != &names.front()) line += ",";
      line += json_text(name) + ":" + row.at(at++).json();
    }
  };
  add(heads.columns);
  if (!heads.classes.empty()) {
    line += ",\"probabilities\":{";
    add(heads.classes);
    line += "}";
  }
  return line + "}\n";
}

}  // namespace fovea::experiment
