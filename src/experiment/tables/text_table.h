// Tables of text whose columns line up, for the terminal and for Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea::experiment {

/// Columns a terminal needs for UTF-8 text: 2 for wide characters, 0 for combining ones.
int display_width(std::string_view text);

struct TextTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // as long as the header
};

/// First column left, others right, two spaces between, a line under the header.
std::string plain_table(const TextTable& table);
/// GitHub's Markdown, cells padded to equal width; `|` in cells is escaped.
std::string markdown_table(const TextTable& table);

}  // namespace fovea::experiment
