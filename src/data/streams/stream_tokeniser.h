// A text as a stream of tokens, and back: by bytes, by words, by byte pairs (byte_pairs.h), or by
// the pieces of SentencePiece (sentence_pieces.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/texts/vocabulary.h"
#include "schema/json/value.h"

namespace fovea::data {

using StreamTokens = std::vector<std::int32_t>;

/// Thread-safe.
class StreamTokeniser {
 public:
  virtual ~StreamTokeniser() = default;
  StreamTokeniser(const StreamTokeniser&) = delete;
  StreamTokeniser& operator=(const StreamTokeniser&) = delete;

  /// Ids are below it.
  virtual std::int64_t size() const = 0;
  virtual StreamTokens encode(std::string_view text) const = 0;
  /// The bytes that a token stands for; not always whole characters. Throws ConfigError for an id
  /// outside [0, size()).
  std::string piece(std::int64_t id) const;
  /// The pieces one behind the other.
  std::string decode(const StreamTokens& ids) const;
  /// {"type": ...}: all that parse_stream_tokeniser() needs.
  virtual schema::Value to_value() const = 0;
  std::string to_text() const { return to_value().dump(0) + "\n"; }

 protected:
  StreamTokeniser() = default;
  virtual std::string piece_of(std::int64_t id) const = 0;
};

/// Inverse of to_text(). Throws FileError, which starts with `name`.
std::shared_ptr<const StreamTokeniser> parse_stream_tokeniser(std::string_view text,
                                                              const std::string& name);

/// 256 tokens, whose ids are the bytes.
std::shared_ptr<const StreamTokeniser> byte_tokeniser();

/// Words between white space, and "<eos>" at the end of every line, as language models of words are
/// scored (Merity et al., "Pointer Sentinel Mixture Models"). Words that the vocabulary does not
/// have are "<unk>", so decode() does not give all of a text back.
std::shared_ptr<const StreamTokeniser> word_tokeniser(Vocabulary words);
/// The vocabulary of a text for it.
Vocabulary stream_words(std::string_view text, std::int64_t min_freq, std::int64_t max_size);

}  // namespace fovea::data
