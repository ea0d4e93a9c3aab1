// A table of texts and labels: ROOT/train.csv and optionally ROOT/val.csv, ROOT/test.csv. Classes
// are the labels of train in byte order.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/suggest.h"
#include "data/files/csv.h"
#include "data/parts/folder.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCsvPage = "datasets/text_csv.md";

struct CsvOptions : TextOptions {
  std::string train_file = "train.csv";
  std::string val_file = "val.csv";
  std::string test_file = "test.csv";
  std::string separator = ",";
  bool quotes = true;
  bool header = true;
  std::string label_column = "label";
  std::vector<std::string> text_columns = {"text"};
};

// The rows of one file and where the chosen columns are in them.
struct Table {
  fs::path path;
  std::vector<CsvRow> rows;
  std::size_t label = 0;
  std::vector<std::size_t> texts;

  std::string place(const CsvRow& row) const {
    return fmt::format("{}:{}", path.string(), row.line);
  }
};

// A column by its name in the header, or without one by its number from 0.
std::size_t column_of(const Table& table, const CsvOptions& options, const std::string& name) {
  const auto& fields = table.rows.front().fields;
  if (options.header) {
    const auto found = std::find(fields.begin(), fields.end(), name);
    const std::string hint = did_you_mean(name, fields);
    FOVEA_CHECK(
        found != fields.end(), FileError,
        fmt::format("{}: has no column \"{}\"{} set dataset.label_column and "
                    "dataset.text_columns to columns of its header, or dataset.header=false",
                    table.place(table.rows.front()), name, hint.empty() ? std::string(";") : hint));
    return static_cast<std::size_t>(found - fields.begin());
  }
  std::size_t number = 0;
  const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
  FOVEA_CHECK(status == std::errc() && end == name.data() + name.size() && number < fields.size(),
              ConfigError,
              fmt::format("dataset: no column \"{}\" in {}: without a header columns are numbers, "
                          "here 0 to {}",
                          name, table.path.string(), fields.size() - 1));
  return number;
}

Table read_table(const fs::path& path, const CsvOptions& options) {
  Table table{path, {}, 0, {}};
  table.rows = parse_csv(read_text_file(path, options.encoding, kCsvPage), options.separator[0],
                         options.quotes, path.string());
  FOVEA_CHECK(
      !table.rows.empty(), FileError,
      fmt::format("{}: is empty; expected rows of a table; see {}", path.string(), kCsvPage));
  table.label = column_of(table, options, options.label_column);
  for (const std::string& name : options.text_columns)
    table.texts.push_back(column_of(table, options, name));
  const std::size_t width = table.rows.front().fields.size();
  if (options.header) table.rows.erase(table.rows.begin());
  for (const CsvRow& row : table.rows) {
    FOVEA_CHECK(row.fields.size() == width, FileError,
                fmt::format("{}: has {} fields; expected {} as in the first row", table.place(row),
                            row.fields.size(), width));
  }
  return table;
}

// The class of a row.
const std::string& label_of(const Table& table, const CsvRow& row) {
  const std::string& label = row.fields[table.label];
  FOVEA_CHECK(label.find_first_not_of(" \t\r\n") != std::string::npos, FileError,
              fmt::format("{}: the label is empty; expected a class", table.place(row)));
  return label;
}

std::vector<std::string> classes_of(const Table& table) {
  std::set<std::string> names;
  for (const CsvRow& row : table.rows) names.insert(label_of(table, row));
  return {names.begin(), names.end()};
}

std::optional<TextSource> open_csv(const Place& place, const CsvOptions& options) {
  const bool named = place.split == Split::kVal    ? options.val_file != CsvOptions{}.val_file
                     : place.split == Split::kTest ? options.test_file != CsvOptions{}.test_file
                                                   : true;
  const auto path_of = [&](Split split) {
    if (split == Split::kVal && !named) return part_path(place.root, split, ".csv");
    return place.root / (split == Split::kTrain ? options.train_file
                         : split == Split::kVal ? options.val_file
                                                : options.test_file);
  };
  std::error_code code;
  if (!named && !fs::exists(path_of(place.split), code)) return std::nullopt;
  const Table table = read_table(path_of(place.split), options);
  TextSource source;
  source.files = {table.path};
  source.class_names = classes_of(
      place.split == Split::kTrain ? table : read_table(path_of(Split::kTrain), options));
  const auto& known = source.class_names;
  for (const CsvRow& row : table.rows) {
    const std::string& label = label_of(table, row);
    const auto found = std::lower_bound(known.begin(), known.end(), label);
    FOVEA_CHECK(found != known.end() && *found == label, FileError,
                fmt::format("{}: train has no class \"{}\"{}", table.place(row), label,
                            did_you_mean(label, known)));
    std::string text;
    for (const std::size_t column : table.texts)
      text += (text.empty() ? "" : " ") + row.fields[column];
    source.documents.push_back({std::move(text), found - known.begin(), table.place(row)});
  }
  return source;
}

}  // namespace

FOVEA_DATASET(
    text_csv, open_csv, "a table of texts and labels, comma or otherwise separated", kCsvPage,
    schema::Fields<CsvOptions>{}
        .add("train_file", &CsvOptions::train_file, "file of train, in root")
        .add("val_file", &CsvOptions::val_file,
             "file of val; val.csv, valid.csv or validation.csv need not be there")
        .add("test_file", &CsvOptions::test_file, "file of test; there need not be a test.csv")
        .add("separator", &CsvOptions::separator, "one character between the columns")
        .add("quotes", &CsvOptions::quotes, "fields may stand in double quotes")
        .add("header", &CsvOptions::header, "the first row holds the names of the columns")
        .add("label_column", &CsvOptions::label_column,
             "column of the class: its name, or without a header its number from 0")
        .add("text_columns", &CsvOptions::text_columns,
             "columns of the text, joined by a space: names, or numbers as strings")
        .check([](const CsvOptions& o) {
          return o.separator.size() == 1 && o.separator != "\n" && o.separator != "\""
                     ? std::string()
                     : std::string("separator must be one character and no quote or line break");
        }))

}  // namespace fovea::data
