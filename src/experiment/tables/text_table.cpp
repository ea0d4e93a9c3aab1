#include "experiment/tables/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace fovea::experiment {
namespace {

struct Range {
  std::uint32_t first, last;
};

// East Asian wide and full-width blocks, and pictographs.
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115F},
                                         {0x2E80, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0xFFE0, 0xFFE6},
                                         {0x1F300, 0x1FAFF},
                                         {0x20000, 0x3FFFD}}};
// Combining marks, joiners, variation selectors.
constexpr std::array<Range, 5> kZero = {
    {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

template <std::size_t N>
bool inside(const std::array<Range, N>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

// Well-formed UTF-8 is assumed; other bytes count as one column each.
std::uint32_t next_code(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0xC0) return lead;
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  std::uint32_t code = lead & (0x3FU >> more);
  for (int i = 0; i < more && at < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xC0U) != 0x80U) break;
    code = code << 6U | (byte & 0x3FU);
    ++at;
  }
  return code;
}

std::vector<int> widths_of(const TextTable& table) {
  std::vector<int> widths;
  for (const std::string& cell : table.header) widths.push_back(display_width(cell));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::string padded(const std::string& text, int width, bool left) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return left ? fmt::format("{}{}", text, space) : fmt::format("{}{}", space, text);
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t code = next_code(text, at);
    if (!inside(kZero, code)) width += inside(kWide, code) ? 2 : 1;
  }
  return width;
}

std::string plain_table(const TextTable& table) {
  const std::vector<int> widths = widths_of(table);
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) row += "  ";
      row += padded(cells[i], widths[i], i == 0);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  line(table.header);
  std::vector<std::string> rule;
  for (const int width : widths) rule.emplace_back(static_cast<std::size_t>(width), '-');
  line(rule);
  for (const auto& row : table.rows) line(row);
  return text;
}

std::string markdown_table(const TextTable& given) {
  TextTable table = given;
  const auto escape = [](std::vector<std::string>& cells) {
    for (std::string& cell : cells) {
      for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2)
        cell.insert(at, 1, '\\');
    }
  };
  escape(table.header);
  for (auto& row : table.rows) escape(row);
  std::vector<int> widths = widths_of(table);
  for (int& width : widths) width = std::max(width, 3);
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    text += "|";
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += fmt::format(" {} |", padded(cells[i], widths[i], i == 0));
    text += "\n";
  };
  line(table.header);
  text += "|";
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::string dashes(static_cast<std::size_t>(widths[i]) + 1, '-');
    text += i == 0 ? fmt::format(":{}|", dashes) : fmt::format("{}:|", dashes);
  }
  text += "\n";
  for (const auto& row : table.rows) line(row);
  return text;
}

}  // namespace fovea::experiment
