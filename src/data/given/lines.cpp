#include "data/given/lines.h"

#include <fmt/format.h>

#include <iostream>
#include <span>

#include "base/error.h"

namespace fovea::data {

Lines::Lines(const std::filesystem::path& file) : name_(file.string()) {
  if (name_ != kStandardInput) file_.emplace(file);
  fill();
  FOVEA_CHECK(!rest().starts_with("\xff\xfe") && !rest().starts_with("\xfe\xff"), FileError,
              fmt::format("{}: is UTF-16; expected UTF-8 or Latin-1", name_));
}

std::optional<std::string> Lines::next() {
  std::string line;
  bool ended = false;
  while (!ended) {
    if (rest().empty() && !fill()) {
      if (line.empty()) return std::nullopt;
      break;
    }
    const std::size_t end = rest().find('\n');
    ended = end != std::string_view::npos;
    line += rest().substr(0, end);
    at_ = ended ? at_ + end + 1 : block_.size();
    FOVEA_CHECK(line.size() <= kMostLineBytes, FileError,
                fmt::format("{}:{}: a line of more than {} bytes; expected texts", name_,
                            number_ + 1, kMostLineBytes));
  }
  ++number_;
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

// The next block of a file; of standard input the next line, so that nobody waits for more, or as
// much of it as fills a block.
bool Lines::fill() {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  at_ = 0;
  block_.clear();
  if (file_) {
    block_.resize(kBlock);
    block_.resize(file_->read_at(offset_, std::as_writable_bytes(std::span(block_))));
    offset_ += block_.size();
  } else {
    block_.resize(kBlock);
    std::cin.getline(block_.data(), static_cast<std::streamsize>(kBlock));
    const auto read = static_cast<std::size_t>(std::cin.gcount());
    const bool whole = !std::cin.eof() && !std::cin.fail();  // counted with its end
    if (std::cin.fail() && !std::cin.eof() && read > 0) std::cin.clear();
    block_.resize(read);
    if (whole) block_.back() = '\n';
  }
  return !block_.empty();
}

}  // namespace fovea::data
