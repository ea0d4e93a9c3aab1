#include "experiment/planning/table_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/extension.h"
#include "base/file.h"
#include "data/files/csv.h"
#include "data/files/text_decode.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using data::CsvRow;
using schema::Value;

constexpr std::array<const char*, 9> kLabelNames = {
    "label", "labels", "class", "category", "target", "sentiment", "topic", "intent", "label_text"};
constexpr std::array<const char*, 8> kTextNames = {"text",    "sentence", "review",   "content",
                                                   "comment", "message",  "document", "body"};

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

template <class Names>
std::optional<std::size_t> column_called(const CsvRow& header, const Names& names) {
  for (const char* name : names) {
    for (std::size_t c = 0; c < header.fields.size(); ++c) {
      if (lower(header.fields[c]) == name) return c;
    }
  }
  return std::nullopt;
}

// What a column holds, in all rows but the first.
struct TableColumn {
  std::map<std::string, std::int64_t> values;
  std::int64_t bytes = 0;
};

class SniffedTable {
 public:
  explicit SniffedTable(const fs::path& file) : file_(file) {
    const std::string text = data::to_utf8(io::read_text(file), data::TextEncoding::kAuto);
    for (const char separator :
         lower_extension(file) == ".tsv" ? std::string("\t") : std::string(",;\t")) {
      rows_ = data::parse_csv(text, separator, true, file.string());
      separator_ = separator;
      if (is_even()) break;
    }
    FOVEA_CHECK(
        is_even(), FileError,
        fmt::format("{}: is no table of two columns or more; expected a text and a class in "
                    "every row",
                    file.string()));
    columns_.resize(rows_.front().fields.size());
    for (std::size_t r = 1; r < rows_.size(); ++r) {
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        ++columns_[c].values[rows_[r].fields[c]];
        columns_[c].bytes += std::ssize(rows_[r].fields[c]);
      }
    }
  }

  TableColumns found() {
    const std::optional<std::size_t> label_name = column_called(rows_.front(), kLabelNames);
    const std::optional<std::size_t> text_name = column_called(rows_.front(), kTextNames);
    label_ = label_name ? *label_name : likely_label();
    texts_ = text_name && *text_name != label_ ? std::vector{*text_name} : likely_texts();
    // What stands in the first row of the classes and nowhere else is a name.
    header_ = label_name || text_name || !columns_[label_].values.contains(name_of(label_));
    TableColumns found;
    if (separator_ != ',') found.settings.set("separator", std::string(1, separator_));
    if (!header_) found.settings.set("header", false);
    if (shown(label_) != "label") found.settings.set("label_column", shown(label_));
    std::vector<std::string> names;
    for (const std::size_t c : texts_) names.push_back(shown(c));
    if (names != std::vector<std::string>{"text"})
      found.settings.set("text_columns", Value::array(names));
    found.remark = fmt::format("The class is column {}, the text {} {}{}.", shown(label_),
                               names.size() == 1 ? "column" : "columns", fmt::join(names, " and "),
                               header_ ? "" : " (there is no header; columns count from 0)");
    return found;
  }

 private:
  bool is_even() const {
    if (rows_.size() < 3 || rows_.front().fields.size() < 2) return false;
    return std::ranges::all_of(
        rows_, [&](const CsvRow& row) { return row.fields.size() == rows_.front().fields.size(); });
  }

  const std::string& name_of(std::size_t column) const { return rows_.front().fields[column]; }
  std::string shown(std::size_t column) const {
    return header_ ? name_of(column) : fmt::format("{}", column);
  }
  std::int64_t samples() const { return std::ssize(rows_) - 1; }

  [[noreturn]] void unclear(const char* what) const {
    throw FileError(
        fmt::format("{}: which column holds the {} is not clear; expected a first row with their "
                    "names, text and label (first row: {})",
                    file_.string(), what, fmt::join(rows_.front().fields, " | ")));
  }

  std::size_t likely_label() const {
    std::optional<std::size_t> best;
    bool tie = false;
    const auto different = [&](std::size_t c) { return std::ssize(columns_[c].values); };
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (different(c) < 2 || 2 * different(c) > samples()) continue;
      if (best && different(c) == different(*best)) tie = true;
      if (best && different(c) >= different(*best)) continue;
      best = c;
      tie = false;
    }
    if (!best || tie) unclear("classes");
    return *best;
  }

  std::vector<std::size_t> likely_texts() const {
    constexpr std::int64_t kLeastBytes = 12;
    std::vector<std::size_t> found;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool text = c != label_ && columns_[c].bytes >= kLeastBytes * samples() &&
                        2 * std::ssize(columns_[c].values) > samples();
      if (text) found.push_back(c);
    }
    if (found.empty()) unclear("texts");
    return found;
  }

  fs::path file_;
  std::vector<CsvRow> rows_;
  std::vector<TableColumn> columns_;
  char separator_ = ',';
  bool header_ = true;
  std::size_t label_ = 0;
  std::vector<std::size_t> texts_;
};

}  // namespace

bool is_table(const fs::path& file) {
  const std::string ending = lower_extension(file);
  return ending == ".csv" || ending == ".tsv";
}

TableColumns find_columns(const fs::path& file) { return SniffedTable(file).found(); }

}  // namespace fovea::experiment
