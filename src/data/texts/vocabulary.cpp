#include "data/texts/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr const char* kReservedWords[] = {"<pad>", "<unk>"};

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> words, const std::string& name)
    : tokens_{kReservedWords[kPadding], kReservedWords[kUnknown]} {
  ids_.reserve(words.size());
  for (std::string& word : words) {
    const std::int64_t line = size() + 1;
    FOVEA_CHECK(!word.empty() && word.find('\n') == std::string::npos, FileError,
                fmt::format("{}:{}: is empty or has a line break; expected a word", name, line));
    const auto [place, fresh] = ids_.emplace(word, size());
    FOVEA_CHECK(fresh, FileError,
                fmt::format("{}:{}: \"{}\" stands on line {} already; expected every word once",
                            name, line, word, place->second + 1));
    tokens_.push_back(std::move(word));
  }
}

Vocabulary Vocabulary::build(const WordCounts& counts, std::int64_t min_freq,
                             std::int64_t max_size) {
  std::vector<std::pair<std::int64_t, std::string>> kept;
  for (const auto& [word, count] : counts) {
    const bool special = word == kReservedWords[kPadding] || word == kReservedWords[kUnknown];
    if (count >= min_freq && !special) kept.emplace_back(-count, word);
  }
  std::sort(kept.begin(), kept.end());
  if (max_size > 0) {
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(0, max_size - kSpecial));
    kept.resize(std::min(kept.size(), most));
  }
  std::vector<std::string> words;
  words.reserve(kept.size());
  for (auto& [count, word] : kept) words.push_back(std::move(word));
  return Vocabulary(std::move(words));
}

std::int64_t Vocabulary::id(const std::string& word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

std::string Vocabulary::to_text() const {
  std::string text;
  for (const std::string& token : tokens_) text += token + "\n";
  return text;
}

Vocabulary Vocabulary::parse(std::string_view text, const std::string& name) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    FOVEA_CHECK(end != std::string_view::npos, FileError,
                fmt::format("{}:{}: has no line break at its end; the file was cut short", name,
                            lines.size() + 1));
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(kSpecial); ++i) {
    FOVEA_CHECK(
        i < lines.size() && lines[i] == kReservedWords[i], FileError,
        fmt::format("{}:{}: expected {}; is it a vocabulary?", name, i + 1, kReservedWords[i]));
  }
  lines.erase(lines.begin(), lines.begin() + kSpecial);
  return Vocabulary(std::move(lines), name);
}

}  // namespace fovea::data
