#include "data/streams/stream_tokeniser.h"

#include <fmt/format.h>

#include <utility>

#include "base/base64.h"
#include "base/error.h"
#include "data/streams/byte_pairs.h"
#include "data/streams/sentence_pieces.h"
#include "schema/json/parse.h"

namespace fovea::data {
namespace {

constexpr std::string_view kLineEnd = "<eos>";

class ByteTokeniser final : public StreamTokeniser {
 public:
  std::int64_t size() const override { return 256; }
  StreamTokens encode(std::string_view text) const override {
    StreamTokens ids;
    ids.reserve(text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  schema::Value to_value() const override { return schema::Value::object({{"type", "byte"}}); }

 protected:
  std::string piece_of(std::int64_t id) const override {
    return std::string(1, static_cast<char>(id));
  }
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

// Calls visit(word) for every word, and for the end of every line.
template <class Visit>
void for_stream_words(std::string_view text, const Visit& visit) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_blank(text[at])) {
      ++at;
    } else if (text[at] == '\n') {
      visit(kLineEnd);
      ++at;
    } else {
      const std::size_t begin = at;
      while (at < text.size() && !is_blank(text[at]) && text[at] != '\n') ++at;
      visit(text.substr(begin, at - begin));
    }
  }
}

class WordTokeniser final : public StreamTokeniser {
 public:
  explicit WordTokeniser(Vocabulary words) : words_(std::move(words)) {}
  std::int64_t size() const override { return words_.size(); }
  StreamTokens encode(std::string_view text) const override {
    StreamTokens ids;
    for_stream_words(text, [&](std::string_view word) {
      ids.push_back(static_cast<std::int32_t>(words_.id(std::string(word))));
    });
    return ids;
  }
  schema::Value to_value() const override {
    std::vector<std::string> words;
    for (std::int64_t id = Vocabulary::kSpecial; id < words_.size(); ++id)
      words.push_back(words_.token(id));
    return schema::Value::object({{"type", "word"}, {"words", schema::Value::array(words)}});
  }

 protected:
  std::string piece_of(std::int64_t id) const override {
    const std::string& word = words_.token(id);
    return word == kLineEnd ? "\n" : " " + word;
  }

 private:
  Vocabulary words_;
};

}  // namespace

std::string StreamTokeniser::piece(std::int64_t id) const {
  FOVEA_CHECK(id >= 0 && id < size(), ConfigError,
              fmt::format("tokeniser: token {} is outside [0, {})", id, size()));
  return piece_of(id);
}

std::string StreamTokeniser::decode(const StreamTokens& ids) const {
  std::string text;
  for (const std::int32_t id : ids) text += piece(id);
  return text;
}

std::shared_ptr<const StreamTokeniser> byte_tokeniser() {
  return std::make_shared<const ByteTokeniser>();
}

std::shared_ptr<const StreamTokeniser> word_tokeniser(Vocabulary words) {
  return std::make_shared<const WordTokeniser>(std::move(words));
}

Vocabulary stream_words(std::string_view text, std::int64_t min_freq, std::int64_t max_size) {
  WordCounts counts;
  for_stream_words(text, [&](std::string_view word) { ++counts[std::string(word)]; });
  return Vocabulary::build(counts, min_freq, max_size);
}

std::shared_ptr<const StreamTokeniser> parse_stream_tokeniser(std::string_view text,
                                                              const std::string& name) {
  try {
    const schema::Value value = schema::parse(text, name, {.bytes = kMaxTokeniserBytes});
    const std::string& type = value.at("type").as_string();
    if (type == "byte") return byte_tokeniser();
    const auto list = [&](const char* key) {
      std::vector<std::string> items;
      for (const schema::Value& item : value.at(key).items()) items.push_back(item.as_string());
      return items;
    };
    if (type == "word") return word_tokeniser(Vocabulary(list("words"), name));
    if (type == "bpe") return byte_pair_tokeniser(list("vocab"), list("merges"), name);
    if (type == "sentencepiece") {
      const std::optional<std::string> model = from_base64(value.at("model").as_string());
      FOVEA_CHECK(model, FileError, fmt::format("{}: model: is not in base64", name));
      return sentence_piece_tokeniser(*model, name);
    }
    throw FileError(
        fmt::format("{}: a tokeniser of type \"{}\"; expected byte, word, bpe or sentencepiece",
                    name, type));
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}; expected a tokeniser", error.what()));
  }
}

}  // namespace fovea::data
