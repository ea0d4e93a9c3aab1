// The last line of a terminal, drawn again and again, with lines above it that stay.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace fovea::training {

/// Columns that UTF-8 text takes, one for each character.
std::size_t columns_of(std::string_view text);
/// The text, or as much of it as fits into so many columns, with an ellipsis as the last.
std::string cut_to_columns(std::string_view text, std::size_t columns);

class StatusLine {
 public:
  /// columns: the width of the terminal, asked whenever something is drawn.
  StatusLine(std::ostream& out, std::function<std::size_t()> columns);
  /// Ends the line that is shown, so that a prompt does not follow it.
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Instead of what was shown; cut to the terminal's width less one, since a full line may wrap.
  void show(std::string_view text);
  /// Takes away what is shown, on all lines that it takes where the terminal has become narrower.
  void clear();
  /// A line that stays, above what is shown next; long ones wrap.
  void keep(std::string_view text);
  /// What show() has room for.
  std::size_t room() const;

 private:
  std::ostream& out_;
  std::function<std::size_t()> columns_;
  std::size_t drawn_ = 0;  // columns of what is shown
};

}  // namespace fovea::training
