// The lines of a file of any length, or of standard input, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace fovea::data {

/// What a line, or a row of a table with its line breaks, may have.
inline constexpr std::size_t kMostLineBytes = std::size_t{1} << 26;

class Lines {
 public:
  /// The name of standard input among files.
  static constexpr const char* kStandardInput = "-";

  /// Throws FileError for a file that cannot be read, and for UTF-16.
  explicit Lines(const std::filesystem::path& file);

  /// Without its end, \n or \r\n; nothing behind the last. Throws FileError for a line that is too
  /// long.
  std::optional<std::string> next();
  std::int64_t number() const { return number_; }  // of the last line, from 1
  const std::string& name() const { return name_; }

 private:
  std::string_view rest() const { return std::string_view(block_).substr(at_); }
  bool fill();

  std::string name_;
  std::optional<io::ReadFile> file_;
  std::uint64_t offset_ = 0;  // of the next block in the file
  std::string block_;
  std::size_t at_ = 0;  // in the block
  std::int64_t number_ = 0;
};

}  // namespace fovea::data
