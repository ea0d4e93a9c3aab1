// Words and their numbers. dgsa section 7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fovea::data {

/// How often each word occurs.
using WordCounts = std::unordered_map<std::string, std::int64_t>;

class Vocabulary {
 public:
  static constexpr std::int64_t kPadding = 0;  // "<pad>"
  static constexpr std::int64_t kUnknown = 1;  // "<unk>"
  static constexpr std::int64_t kSpecial = 2;  // ids below are no words

  /// Words with ids from kSpecial on. Throws FileError, which starts with `name`, for an empty
  /// word, one with a line break, and one that stands there twice.
  explicit Vocabulary(std::vector<std::string> words, const std::string& name = "vocabulary");

  /// Words that occur at least `min_freq` times, the frequent ones first and equally frequent ones
  /// in byte order, cut so that size() is at most `max_size` (0: no limit).
  static Vocabulary build(const WordCounts& counts, std::int64_t min_freq, std::int64_t max_size);

  /// Special ids included.
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  /// kUnknown for an unknown word. No word has a special id.
  std::int64_t id(const std::string& word) const;
  /// id in [0, size()).
  const std::string& token(std::int64_t id) const { return tokens_[static_cast<std::size_t>(id)]; }

  /// One token a line; the number of the line, counted from 0, is the id.
  std::string to_text() const;
  /// Inverse of to_text(). Throws FileError with `name` and the line.
  static Vocabulary parse(std::string_view text, const std::string& name);

  bool operator==(const Vocabulary& other) const { return tokens_ == other.tokens_; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace fovea::data
