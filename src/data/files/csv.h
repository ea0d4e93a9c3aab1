// Tables of comma-separated values (RFC 4180).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::data {

struct CsvRow {
  std::int64_t line = 0;  // where it begins, from 1
  std::vector<std::string> fields;
};

/// Rows of a table; empty lines are left out. Lines end in \n or \r\n. With `quotes`, a field may
/// stand in double quotes, inside of which "" is a quote and separators and line breaks are text;
/// backslashes mean nothing. Throws FileError "NAME:LINE: ..." for a quote that is never closed and
/// for text behind a closing quote. `first_line`: the number of the first line of the text.
std::vector<CsvRow> parse_csv(std::string_view text, char separator, bool quotes,
                              const std::string& name, std::int64_t first_line = 1);

/// For rows that are read line by line: a row with quoted fields may have several.
class RowLines {
 public:
  explicit RowLines(char separator) : separator_(separator) {}
  /// Takes the next line, without its end; true if a quoted field goes on behind it.
  bool goes_on_behind(std::string_view line);

 private:
  char separator_;
  bool quoted_ = false;
};

}  // namespace fovea::data
