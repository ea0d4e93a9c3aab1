// Texts of one's own, one after the other, from files of any length or from standard input. No more
// than one of them is in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/files/text_decode.h"

namespace fovea::data {

struct GivenText {
  std::string name;  // "reviews.csv:12", by the line it begins in
  std::string file;
  std::string text;          // UTF-8
  std::string problem = "";  // why its row cannot be understood, "FILE:LINE: ..."; else ""
};

class TextReader {
 public:
  /// By the file's ending: .csv and .tsv are tables whose first row names the columns (in a .csv,
  /// fields may stand in double quotes, as in RFC 4180); .jsonl and .ndjson hold an object in each
  /// line. Of these `columns` are the text, joined by a space; without any, "text". Of all others,
  /// and of standard input ("-"), each line that is not blank is a text; `columns` are then
  /// refused. Throws FileError for what cannot be read and a table without such a column,
  /// ConfigError.
  TextReader(const std::filesystem::path& file, std::vector<std::string> columns,
             TextEncoding encoding);
  ~TextReader();
  TextReader(TextReader&&) noexcept;
  TextReader& operator=(TextReader&&) noexcept;

  /// Nothing behind the last. Throws FileError where the file cannot be read on.
  std::optional<GivenText> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fovea::data
