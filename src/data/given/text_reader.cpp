#include "data/given/text_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/extension.h"
#include "base/suggest.h"
#include "data/files/csv.h"
#include "data/given/lines.h"
#include "schema/json/parse.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

// A row that cannot be understood, in a file that can be read.
struct UnreadableRow : FileError {
  using FileError::FileError;
};

}  // namespace

struct TextReader::State {
  State(const fs::path& file, std::vector<std::string> asked, TextEncoding how)
      : lines(file), columns(std::move(asked)), encoding(how) {
    const std::string ending = lower_extension(file);
    const bool table = ending == ".csv" || ending == ".tsv";
    objects = ending == ".jsonl" || ending == ".ndjson";
    FOVEA_CHECK(
        table || objects || columns.empty(), ConfigError,
        fmt::format("{}: has lines, not columns; --column is of .csv, .tsv and .jsonl files",
                    file.string()));
    if (columns.empty() && (table || objects)) columns = {"text"};
    if (!table) return;
    separator = ending == ".csv" ? ',' : '\t';
    const std::optional<CsvRow> heads = next_row();
    FOVEA_CHECK(heads, FileError,
                fmt::format("{}: is empty; expected rows of a table below the names of its columns",
                            file.string()));
    for (const std::string& column : columns) places.push_back(place_of(column, *heads));
    width = heads->fields.size();
  }

  std::size_t place_of(const std::string& column, const CsvRow& heads) const {
    const auto found = std::find(heads.fields.begin(), heads.fields.end(), column);
    FOVEA_CHECK(found != heads.fields.end(), FileError,
                fmt::format("{}: has no column \"{}\"{} (its columns: {}); choose with --column",
                            lines.name(), column, did_you_mean(column, heads.fields),
                            fmt::join(heads.fields, ", ")));
    return static_cast<std::size_t>(found - heads.fields.begin());
  }

  std::optional<std::string> next_line() {
    std::optional<std::string> line = lines.next();
    while (line && line->find_first_not_of(" \t\f\v") == std::string::npos) line = lines.next();
    if (line) *line = to_utf8(*line, encoding);
    return line;
  }

  // A row may have line breaks inside of quotes: it ends where all quotes are closed.
  std::optional<CsvRow> next_row() {
    const bool quotes = separator == ',';
    std::optional<std::string> text = next_line();
    row_begins = lines.number();
    if (!text) return std::nullopt;
    RowLines row(separator);
    bool open = quotes && row.goes_on_behind(*text);
    while (open) {
      const std::optional<std::string> more = lines.next();
      if (!more || text->size() > kMostLineBytes) break;  // parse_csv says that it is never closed
      open = row.goes_on_behind(*more);
      *text += '\n';
      *text += to_utf8(*more, encoding);
    }
    try {
      const std::vector<CsvRow> rows =
          parse_csv(*text, separator, quotes, lines.name(), row_begins);
      return rows.empty() ? CsvRow{row_begins, {""}} : rows.front();
    } catch (const FileError& error) {
      throw UnreadableRow(error.what());
    }
  }

  // The text of the next row, object or line.
  std::optional<std::string> next_text() {
    if (separator != 0) return text_of_row();
    std::optional<std::string> line = next_line();
    row_begins = lines.number();
    return line && objects ? text_of_object(*line) : line;
  }

  std::optional<std::string> text_of_row() {
    const std::optional<CsvRow> row = next_row();
    if (!row) return std::nullopt;
    FOVEA_CHECK(row->fields.size() == width, UnreadableRow,
                fmt::format("{}:{}: has {} fields; expected {} as in the first row", lines.name(),
                            row->line, row->fields.size(), width));
    std::vector<std::string> parts;
    for (const std::size_t column : places) parts.push_back(row->fields[column]);
    return fmt::format("{}", fmt::join(parts, " "));
  }

  std::string text_of_object(const std::string& line) const {
    std::vector<std::string> parts;
    try {
      const schema::Value object =
          schema::parse(line, lines.name(), {}, static_cast<int>(row_begins));
      for (const std::string& column : columns) parts.push_back(object.at(column).as_string());
    } catch (const ConfigError& error) {
      throw UnreadableRow(fmt::format("{}; expected an object with a text as \"{}\"", error.what(),
                                      fmt::join(columns, "\" and \"")));
    }
    return fmt::format("{}", fmt::join(parts, " "));
  }

  Lines lines;
  std::vector<std::string> columns;
  TextEncoding encoding;
  bool objects = false;
  std::int64_t row_begins = 0;      // line of the last row, object or line
  char separator = 0;               // of a table
  std::vector<std::size_t> places;  // of the columns in a table
  std::size_t width = 0;
};

TextReader::TextReader(const fs::path& file, std::vector<std::string> columns,
                       TextEncoding encoding)
    : state_(std::make_unique<State>(file, std::move(columns), encoding)) {}
TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;
TextReader& TextReader::operator=(TextReader&&) noexcept = default;

std::optional<GivenText> TextReader::next() {
  State& s = *state_;
  GivenText given{"", s.lines.name(), "", ""};
  try {
    std::optional<std::string> text = s.next_text();
    if (!text) return std::nullopt;
    given.text = std::move(*text);
  } catch (const UnreadableRow& error) {  // the rows behind it are worth having
    given.problem = error.what();
  }
  const bool piped = s.lines.name() == Lines::kStandardInput;
  given.name = fmt::format("{}:{}", piped ? "stdin" : fs::path(given.file).filename().string(),
                           s.row_begins);
  return given;
}

}  // namespace fovea::data
