// Lines of tables that grow while results come: CSV, or JSON lines with an object each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea::experiment {

enum class TableFormat { kCsv, kJsonl };
/// "csv", "jsonl": the ending of such files.
std::string_view ending_of(TableFormat format);
/// Its inverse. Throws ConfigError, which begins with `where`.
TableFormat table_format(const std::string& ending, const std::string& where);

/// A text, a number or nothing.
class ResultCell {
 public:
  ResultCell() = default;
  ResultCell(std::string text) : text_(std::move(text)), kind_(Kind::kText) {}
  // With every digit that the type has.
  ResultCell(std::int64_t number);
  ResultCell(float number);
  ResultCell(double number);

  /// A field of a CSV file: nothing is empty.
  std::string csv() const;
  /// A JSON value: nothing is null, and so is a number that is not finite.
  std::string json() const;

 private:
  enum class Kind { kNothing, kText, kNumber };
  std::string text_;
  Kind kind_ = Kind::kNothing;
};
using ResultRow = std::vector<ResultCell>;

/// What stands in the columns: first those of every table of the kind, then one for each class,
/// which in JSON are the members of "probabilities".
struct ResultHeads {
  std::vector<std::string> columns;
  std::vector<std::string> classes = {};
};

// With the end of the line. A row has a cell for each column.
std::string csv_line(const ResultHeads& heads);
std::string csv_line(const ResultRow& row);
std::string json_line(const ResultHeads& heads, const ResultRow& row);

}  // namespace fovea::experiment
