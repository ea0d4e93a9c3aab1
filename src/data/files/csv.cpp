#include "data/files/csv.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace fovea::data {
namespace {

class Reader {
 public:
  Reader(std::string_view text, char separator, bool quotes, const std::string& name,
         std::int64_t first_line)
      : text_(text), separator_(separator), quotes_(quotes), name_(name), line_(first_line) {}

  std::vector<CsvRow> rows() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      CsvRow row = next_row();
      if (row.fields.size() > 1 || !row.fields[0].empty()) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  bool at_end_of_line() const {
    if (at_ >= text_.size() || text_[at_] == '\n') return true;
    return text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
  }

  CsvRow next_row() {
    CsvRow row{line_, {}};
    for (;;) {
      const bool quoted = quotes_ && at_ < text_.size() && text_[at_] == '"';
      row.fields.push_back(quoted ? quoted_field() : plain_field());
      if (at_end_of_line()) break;
      ++at_;  // the separator
    }
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    ++at_;
    ++line_;
    return row;
  }

  std::string plain_field() {
    const std::size_t begin = at_;
    while (!at_end_of_line() && text_[at_] != separator_) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted_field() {
    const std::int64_t opened = line_;
    std::string field;
    for (++at_;; ++at_) {
      FOVEA_CHECK(at_ < text_.size(), FileError,
                  fmt::format("{}:{}: the quote that opens a field here is never closed; a quote "
                              "inside a quoted field is written twice",
                              name_, opened));
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      line_ += text_[at_] == '\n' ? 1 : 0;
      field += text_[at_];
    }
    ++at_;
    FOVEA_CHECK(at_end_of_line() || text_[at_] == separator_, FileError,
                fmt::format("{}:{}: text behind a closing quote; expected '{}' or the end of the "
                            "line; a quote inside a quoted field is written twice",
                            name_, line_, separator_));
    return field;
  }

  std::string_view text_;
  char separator_;
  bool quotes_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::int64_t line_;
};

}  // namespace

bool RowLines::goes_on_behind(std::string_view line) {
  bool begins = !quoted_;  // a field
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool quote = line[i] == '"';
    if (quoted_) {
      const bool twice = quote && i + 1 < line.size() && line[i + 1] == '"';
      if (twice) ++i;
      quoted_ = !quote || twice;
    } else {
      quoted_ = begins && quote;
    }
    begins = line[i] == separator_;
  }
  return quoted_;
}

std::vector<CsvRow> parse_csv(std::string_view text, char separator, bool quotes,
                              const std::string& name, std::int64_t first_line) {
  return Reader(text, separator, quotes, name, first_line).rows();
}

}  // namespace fovea::data
