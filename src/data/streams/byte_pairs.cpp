#include "data/streams/byte_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/streams/pre_tokens.h"
#include "schema/json/parse.h"

namespace fovea::data {
namespace {

using PairKey = std::uint64_t;

PairKey key_of(std::int32_t left, std::int32_t right) {
  return static_cast<PairKey>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}
std::int32_t left_of(PairKey key) { return static_cast<std::int32_t>(key >> 32); }
std::int32_t right_of(PairKey key) { return static_cast<std::int32_t>(key & 0xffffffffU); }

// GPT-2's alphabet: bytes that can be seen in Latin-1 stand for themselves, the others, in order,
// for the code points from 256 on.
bool is_visible(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
  std::array<std::string, 256> letters;         // by byte, UTF-8
  std::unordered_map<std::string, char> bytes;  // by letter
  std::vector<int> order;                       // the bytes, by the code points of their letters
};

const Alphabet& alphabet() {
  static const Alphabet all = [] {
    Alphabet a;
    std::vector<int> hidden;
    for (int byte = 0; byte < 256; ++byte) (is_visible(byte) ? a.order : hidden).push_back(byte);
    const auto name = [&](int byte, int code) {
      std::string& letter = a.letters[static_cast<std::size_t>(byte)];
      if (code < 0x80) {
        letter = static_cast<char>(code);
      } else {
        letter = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
      }
      a.bytes[letter] = static_cast<char>(byte);
    };
    for (const int byte : a.order) name(byte, byte);
    for (std::size_t i = 0; i < hidden.size(); ++i) name(hidden[i], 256 + static_cast<int>(i));
    a.order.insert(a.order.end(), hidden.begin(), hidden.end());
    return a;
  }();
  return all;
}

std::string in_letters(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += alphabet().letters[static_cast<unsigned char>(c)];
  return text;
}

// Throws FileError for what is no letter.
std::string in_bytes(const std::string& letters, const std::string& name) {
  std::string bytes;
  for (std::size_t at = 0; at < letters.size();) {
    const std::size_t length = static_cast<unsigned char>(letters[at]) < 0x80 ? 1 : 2;
    const auto found = alphabet().bytes.find(letters.substr(at, length));
    FOVEA_CHECK(found != alphabet().bytes.end(), FileError,
                fmt::format("{}: token \"{}\": byte {} is no letter of GPT-2's alphabet", name,
                            letters, at));
    bytes += found->second;
    at += length;
  }
  return bytes;
}

struct Merge {
  std::int32_t rank = 0;
  std::int32_t result = 0;
};

class BytePairTokeniser final : public StreamTokeniser {
 public:
  BytePairTokeniser(std::vector<std::string> pieces, std::vector<PairKey> merges,
                    const std::string& name)
      : pieces_(std::move(pieces)), merges_(std::move(merges)) {
    std::unordered_map<std::string, std::int32_t> ids;
    for (const std::string& piece : pieces_) {
      const bool fresh = ids.emplace(piece, static_cast<std::int32_t>(ids.size())).second;
      FOVEA_CHECK(fresh && !piece.empty(), FileError,
                  fmt::format("{}: token \"{}\" is empty or there twice", name, in_letters(piece)));
    }
    const auto id_of = [&](const std::string& piece) {
      const auto found = ids.find(piece);
      FOVEA_CHECK(
          found != ids.end(), FileError,
          fmt::format("{}: \"{}\" is no token; expected every byte, and the result of every "
                      "merge",
                      name, in_letters(piece)));
      return found->second;
    };
    for (int byte = 0; byte < 256; ++byte)
      of_byte_[static_cast<std::size_t>(byte)] = id_of(std::string(1, static_cast<char>(byte)));
    for (const PairKey key : merges_) {
      const auto rank = static_cast<std::int32_t>(by_pair_.size());
      const std::int32_t result = id_of(bytes_of(left_of(key)) + bytes_of(right_of(key)));
      FOVEA_CHECK(
          by_pair_.emplace(key, Merge{rank, result}).second, FileError,
          fmt::format("{}: the merge \"{} {}\" is there twice", name,
                      in_letters(bytes_of(left_of(key))), in_letters(bytes_of(right_of(key)))));
    }
  }

  std::int64_t size() const override { return std::ssize(pieces_); }

  StreamTokens encode(std::string_view text) const override {
    StreamTokens ids;
    std::unordered_map<std::string_view, StreamTokens> known;  // most pieces come again
    for_pre_tokens(text, [&](std::string_view piece) {
      const auto [place, fresh] = known.try_emplace(piece);
      if (fresh) place->second = merged(piece);
      ids.insert(ids.end(), place->second.begin(), place->second.end());
    });
    return ids;
  }

  schema::Value to_value() const override {
    std::vector<std::string> vocab, merges;
    for (const std::string& piece : pieces_) vocab.push_back(in_letters(piece));
    for (const PairKey key : merges_)
      merges.push_back(in_letters(bytes_of(left_of(key))) + " " +
                       in_letters(bytes_of(right_of(key))));
    return schema::Value::object({{"type", "bpe"},
                                  {"vocab", schema::Value::array(vocab)},
                                  {"merges", schema::Value::array(merges)}});
  }

 protected:
  std::string piece_of(std::int64_t id) const override {
    return pieces_[static_cast<std::size_t>(id)];
  }

 private:
  const std::string& bytes_of(std::int32_t id) const {
    return pieces_[static_cast<std::size_t>(id)];
  }

  // A list of symbols, of which the pair with the lowest rank is merged, the leftmost of several,
  // until none can be. Pairs wait in a queue; those that are no more are passed over.
  StreamTokens merged(std::string_view piece) const {
    struct Symbol {
      std::int32_t id;
      std::int32_t before, behind;  // -1: none
    };
    struct Candidate {
      std::int32_t rank, at;
      PairKey key;
      bool operator<(const Candidate& other) const {  // the best is the largest
        return rank != other.rank ? rank > other.rank : at > other.at;
      }
    };
    const auto n = static_cast<std::int32_t>(piece.size());
    std::vector<Symbol> symbols;
    for (std::int32_t i = 0; i < n; ++i) {
      const auto byte = static_cast<unsigned char>(piece[static_cast<std::size_t>(i)]);
      symbols.push_back({of_byte_[byte], i - 1, i + 1 < n ? i + 1 : -1});
    }
    const auto symbol = [&](std::int32_t at) -> Symbol& {
      return symbols[static_cast<std::size_t>(at)];
    };
    std::priority_queue<Candidate> waiting;
    const auto consider = [&](std::int32_t at) {
      if (at < 0 || symbol(at).behind < 0) return;
      const PairKey key = key_of(symbol(at).id, symbol(symbol(at).behind).id);
      const auto found = by_pair_.find(key);
      if (found != by_pair_.end()) waiting.push({found->second.rank, at, key});
    };
    for (std::int32_t i = 0; i < n; ++i) consider(i);
    while (!waiting.empty()) {
      const Candidate best = waiting.top();
      waiting.pop();
      Symbol& left = symbol(best.at);
      if (left.id < 0 || left.behind < 0) continue;
      Symbol& right = symbol(left.behind);
      if (key_of(left.id, right.id) != best.key) continue;
      left.id = by_pair_.at(best.key).result;
      left.behind = right.behind;
      if (right.behind >= 0) symbol(right.behind).before = best.at;
      right.id = -1;
      consider(left.before);
      consider(best.at);
    }
    StreamTokens ids;
    for (std::int32_t at = 0; at >= 0; at = symbol(at).behind) ids.push_back(symbol(at).id);
    return ids;
  }

  std::vector<std::string> pieces_;  // bytes, by id
  std::vector<PairKey> merges_;      // by rank
  std::array<std::int32_t, 256> of_byte_{};
  std::unordered_map<PairKey, Merge> by_pair_;
};

// Learning: the distinct pieces of the text with their counts, whose symbols are merged step by
// step.
class PairCounts {
 public:
  explicit PairCounts(std::string_view text) {
    std::unordered_map<std::string_view, std::int64_t> counts;
    for_pre_tokens(text, [&](std::string_view piece) { ++counts[piece]; });
    // In an order of their own, so that nothing depends on that of a hash table.
    std::vector<std::pair<std::string_view, std::int64_t>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end());
    std::array<std::int32_t, 256> id{};
    for (std::size_t i = 0; i < 256; ++i)
      id[static_cast<std::size_t>(alphabet().order[i])] = static_cast<std::int32_t>(i);
    for (const auto& [piece, count] : sorted) {
      StreamTokens& symbols = words_.emplace_back();
      counts_.push_back(count);
      for (const char c : piece) symbols.push_back(id[static_cast<unsigned char>(c)]);
      add(words_.size() - 1, 1);
    }
    for (const auto& [key, pair] : pairs_) waiting_.push({pair.count, key});
  }

  // The most frequent pair; its count is below 1 where there is none.
  struct Best {
    std::int64_t count = 0;
    PairKey key = 0;
    bool operator<(const Best& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };
  Best best() {
    while (!waiting_.empty()) {
      const Best top = waiting_.top();
      const std::int64_t count = pairs_.at(top.key).count;
      if (count == top.count) return top;
      waiting_.pop();  // counts only fall
      if (count > 0) waiting_.push({count, top.key});
    }
    return {};
  }

  void merge(PairKey key, std::int32_t result) {
    const std::vector<std::size_t> places = std::move(pairs_.at(key).words);
    changed_.clear();
    for (const std::size_t word : places) {
      add(word, -1);
      StreamTokens& symbols = words_[word];
      std::size_t to = 0;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        const bool here = i + 1 < symbols.size() && key_of(symbols[i], symbols[i + 1]) == key;
        symbols[to++] = here ? result : symbols[i];
        if (here) ++i;
      }
      symbols.resize(to);
      add(word, 1);
    }
    // Pairs with the new token, which no queue has yet.
    for (const PairKey fresh : changed_) {
      if (left_of(fresh) != result && right_of(fresh) != result) continue;
      const std::int64_t count = pairs_.at(fresh).count;
      if (count > 0) waiting_.push({count, fresh});
    }
  }

 private:
  struct Pair {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  // that had it at some time; ascending, each once
  };

  void add(std::size_t word, std::int64_t sign) {
    const StreamTokens& symbols = words_[word];
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const PairKey key = key_of(symbols[i], symbols[i + 1]);
      const auto [place, fresh] = pairs_.try_emplace(key);
      Pair& pair = place->second;
      pair.count += sign * counts_[word];
      if (fresh) changed_.push_back(key);
      if (sign > 0 && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
    }
  }

  std::vector<StreamTokens> words_;
  std::vector<std::int64_t> counts_;
  std::unordered_map<PairKey, Pair> pairs_;
  std::vector<PairKey> changed_;  // pairs that came up in the last merge
  std::priority_queue<Best> waiting_;
};

}  // namespace

std::shared_ptr<const StreamTokeniser> byte_pair_tokeniser(const std::vector<std::string>& vocab,
                                                           const std::vector<std::string>& merges,
                                                           const std::string& name) {
  std::vector<std::string> pieces;
  std::unordered_map<std::string, std::int32_t> ids;
  for (const std::string& token : vocab) {
    ids.emplace(token, static_cast<std::int32_t>(pieces.size()));
    pieces.push_back(in_bytes(token, name));
  }
  std::vector<PairKey> keys;
  for (const std::string& merge : merges) {
    const std::size_t gap = merge.find(' ');
    FOVEA_CHECK(
        gap != std::string::npos, FileError,
        fmt::format("{}: merge \"{}\"; expected two tokens with a blank between", name, merge));
    const auto id_of = [&](const std::string& token) {
      const auto found = ids.find(token);
      FOVEA_CHECK(found != ids.end(), FileError,
                  fmt::format("{}: merge \"{}\": \"{}\" is no token", name, merge, token));
      return found->second;
    };
    keys.push_back(key_of(id_of(merge.substr(0, gap)), id_of(merge.substr(gap + 1))));
  }
  return std::make_shared<const BytePairTokeniser>(std::move(pieces), std::move(keys), name);
}

std::shared_ptr<const StreamTokeniser> load_gpt2_tokeniser(const std::filesystem::path& vocab,
                                                           const std::filesystem::path& merges) {
  schema::Value ids;
  try {
    ids = schema::parse(io::read_text(vocab, kMaxTokeniserBytes), vocab.string(),
                        {.bytes = kMaxTokeniserBytes});
    std::vector<std::string> tokens(ids.size());
    std::vector<bool> given(ids.size(), false);
    for (const auto& [token, id, origin] : ids.members()) {
      const std::int64_t at = id.as_int();
      FOVEA_CHECK(at >= 0 && at < std::ssize(tokens) && !given[static_cast<std::size_t>(at)],
                  FileError,
                  fmt::format("{}: token \"{}\" has id {}; expected each of 0 to {} once",
                              vocab.string(), token, at, std::ssize(tokens) - 1));
      tokens[static_cast<std::size_t>(at)] = token;
      given[static_cast<std::size_t>(at)] = true;
    }
    std::vector<std::string> lines;
    const std::string text = io::read_text(merges, kMaxTokeniserBytes);
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const bool version = lines.empty() && line.starts_with("#version");
      if (!line.empty() && !version) lines.push_back(std::move(line));
    }
    return byte_pair_tokeniser(tokens, lines, merges.string());
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}; expected GPT-2's vocab.json", error.what()));
  }
}

std::shared_ptr<const StreamTokeniser> train_byte_pairs(std::string_view text,
                                                        std::int64_t vocab_size,
                                                        std::int64_t min_freq) {
  FOVEA_CHECK(vocab_size >= 256, ConfigError,
              fmt::format("tokeniser.vocab_size: is {}; expected at least 256, one for every byte",
                          vocab_size));
  std::vector<std::string> pieces;
  for (const int byte : alphabet().order) pieces.emplace_back(1, static_cast<char>(byte));
  std::vector<PairKey> merges;
  PairCounts counts(text);
  while (std::ssize(pieces) < vocab_size) {
    const PairCounts::Best best = counts.best();
    if (best.count < std::max<std::int64_t>(min_freq, 1)) break;
    const auto result = static_cast<std::int32_t>(pieces.size());
    pieces.push_back(pieces[static_cast<std::size_t>(left_of(best.key))] +
                     pieces[static_cast<std::size_t>(right_of(best.key))]);
    merges.push_back(best.key);
    counts.merge(best.key, result);
  }
  return std::make_shared<const BytePairTokeniser>(std::move(pieces), std::move(merges),
                                                   "tokeniser");
}

}  // namespace fovea::data
