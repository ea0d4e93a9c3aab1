// The published numbers of a paper: experiments/<key>/published.json.
//   {"tables": [{"table": "Table 1", "unit"?: "million", "columns": ["CIFAR-10", ...],
//                "rows": [{"row": "ViT", "values": {"CIFAR-10": {"mean": 75.9, "std": 0.09}}}]}]}
// A table may have "protocol": {"epochs": 300, "seeds": 5, "train_samples": 50000,
// "pretrained": "ImageNet"}, and by column
// "protocols": {"CIFAR-10": {...}}, against which shorter runs are held.
// A value is a number, {"mean", "std"}, or "NaN" of a run that diverged; with unit "million" it is
// multiplied by 10^6.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schema/json/value.h"

namespace fovea::experiment {

struct PublishedValue {
  double mean = 0;
  std::optional<double> std;
  bool operator==(const PublishedValue&) const = default;
};

/// How the numbers of a table were made, as far as the paper says so.
struct Protocol {
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> seeds;  // runs behind a mean
  std::optional<std::int64_t> train_samples;
  std::string pretrained;  // weights that backbones begin with
};

class Published {
 public:
  /// Throws FileError if the file is missing, ConfigError with the position of what is malformed.
  explicit Published(const std::filesystem::path& file);

  /// `table`, `row` and `column` are string values, whose positions are named by errors:
  /// `x.json:9:30: published.row: Table 1 has no row "VIT"; did you mean "ViT"? (known: ...)`.
  PublishedValue find(const schema::Value& table, const schema::Value& row,
                      const schema::Value& column) const;

  /// Names in the order of the file; none of a table that is not there.
  std::vector<std::string> tables() const;
  std::vector<std::string> rows(const std::string& table) const;
  std::vector<std::string> columns(const std::string& table) const;
  /// The number of a row, by its name, in the first table that has both the row and the column.
  std::optional<PublishedValue> of_row(const std::string& row, const std::string& column) const;
  /// The same of one table.
  std::optional<PublishedValue> value(const std::string& table, const std::string& row,
                                      const std::string& column) const;

  /// The protocol of a cell: what its table states, overridden by what it states for the column. `table` is one
  /// that find() knows.
  Protocol protocol(const std::string& table, const std::string& column) const;

 private:
  struct Cell {
    std::string column;
    PublishedValue value;
  };
  struct Row {
    std::string name;
    std::vector<Cell> cells;
  };
  struct Table {
    std::string name;
    Protocol protocol;
    std::map<std::string, Protocol> columns;  // those with a protocol of their own
    std::vector<Row> rows;
  };
  std::string file_;
  std::vector<Table> tables_;
};

}  // namespace fovea::experiment
