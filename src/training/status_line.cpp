#include "training/status_line.h"

#include <algorithm>
#include <utility>

namespace fovea::training {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return !continues_character(byte); }));
}

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (!continues_character(text[end]) && seen++ == columns - 1) break;
  }
  return std::string(text.substr(0, end)) + "\u2026";
}

StatusLine::StatusLine(std::ostream& out, std::function<std::size_t()> columns)
    : out_(out), columns_(std::move(columns)) {}

StatusLine::~StatusLine() {
  if (drawn_ > 0) out_ << "\n" << std::flush;
}

std::size_t StatusLine::room() const { return std::max<std::size_t>(columns_(), 2) - 1; }

void StatusLine::show(std::string_view text) {
  clear();
  const std::string line = cut_to_columns(text, room());
  out_ << line << std::flush;
  drawn_ = columns_of(line);
}

void StatusLine::clear() {
  if (drawn_ == 0) return;
  const std::size_t width = std::max<std::size_t>(columns_(), 1);
  for (std::size_t below = (drawn_ - 1) / width; below > 0; --below) out_ << "\r\x1b[K\x1b[A";
  out_ << "\r\x1b[K";
  drawn_ = 0;
}

void StatusLine::keep(std::string_view text) {
  clear();
  out_ << text << "\n" << std::flush;
}

}  // namespace fovea::training
