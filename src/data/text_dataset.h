// A split of a data set of texts, ready for training: chosen texts as numbers of words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_options.h"
#include "data/text_source.h"
#include "data/vocabulary.h"

namespace fovea::data {

/// How encode() changes a text. All randomness is a function of seed, split, epoch, the text's
/// place in its files, and the corruption's type and level.
struct TextDraw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;                              // 0 for evaluation
  bool augment = false;                                // training noise
  std::optional<TextCorruptionLevel> corruption = {};  // evaluation noise, on every text
};

/// The texts of one part, tokenised once. Words are kept as places in a list of the distinct ones.
class TextPart {
 public:
  TextPart(TextSource source, const TextOptions& options);

  const TextSource& source() const { return source_; }
  std::vector<std::int64_t> labels() const;
  const std::string& name(std::int64_t i) const {
    return source_.documents[static_cast<std::size_t>(i)].name;
  }
  const std::vector<std::string>& distinct_words() const { return distinct_; }
  /// Words of a text, as places in distinct_words().
  const std::vector<std::int32_t>& words(std::int64_t document) const {
    return words_[static_cast<std::size_t>(document)];
  }

 private:
  TextSource source_;
  std::vector<std::string> distinct_;
  std::vector<std::vector<std::int32_t>> words_;
};

/// Thread-safe after construction.
class TextDataset {
 public:
  /// indices: the texts of `part` that belong to this split, ascending. Texts without a word are
  /// treated as options.on_empty says. Throws FileError if one may not be there, if nothing is
  /// left, and, for train, if a class has no text.
  TextDataset(std::shared_ptr<const TextPart> part, Split split,
              const std::vector<std::int64_t>& indices, const TextOptions& options);

  /// Replaces words by numbers; called once, before the data set is shared.
  void set_vocabulary(std::shared_ptr<const Vocabulary> vocabulary);
  /// Adds the words of the split to `counts`.
  void count_words(WordCounts& counts) const;

  Split split() const { return split_; }
  std::int64_t size() const { return static_cast<std::int64_t>(indices_.size()); }
  const std::vector<std::string>& class_names() const { return part_->source().class_names; }
  std::int64_t num_classes() const { return static_cast<std::int64_t>(class_names().size()); }
  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const std::shared_ptr<const Vocabulary>& shared_vocabulary() const { return vocabulary_; }
  const TextOptions& options() const { return options_; }
  /// The grid of types and levels that a robustness evaluation walks through.
  const TextNoise& eval_noise() const { return eval_noise_; }
  /// Texts without a word that were left out, with their names.
  const std::vector<std::string>& left_out() const { return left_out_; }

  // As TextSource.
  const std::vector<std::filesystem::path>& files() const { return part_->source().files; }
  std::string recipe() const { return ""; }

  // i in [0, size()).
  std::int64_t label(std::int64_t i) const { return document(i).label; }
  const std::string& name(std::int64_t i) const { return document(i).name; }
  const std::string& text(std::int64_t i) const { return document(i).text; }
  /// Its words, the first max_len of them.
  std::vector<std::string> words(std::int64_t i) const;
  /// Number of ids without noise, at most max_len.
  std::int64_t length(std::int64_t i) const;
  /// Place in the files, independent of limit and split.
  std::int64_t source_index(std::int64_t i) const;
  /// Noise, then truncation; never empty.
  Ids encode(std::int64_t i, const TextDraw& draw = {}) const;
  // Any text, read like those of the data set.
  /// Its first max_len words.
  std::vector<std::string> words_of(std::string_view text) const;
  /// One unknown word if there is none.
  Ids ids_of(const std::vector<std::string>& words) const;

 private:
  const Document& document(std::int64_t i) const {
    return part_->source().documents[static_cast<std::size_t>(source_index(i))];
  }

  std::shared_ptr<const TextPart> part_;
  Split split_;
  std::vector<std::int64_t> indices_;
  TextOptions options_;
  TextNoise train_noise_;
  TextNoise eval_noise_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::vector<std::int32_t>> ids_;  // of every text of the split, not truncated
  std::vector<std::string> left_out_;
};

/// The splits of one data set, which share a vocabulary; val or test may be null.
using TextSplits = Splits<TextDataset>;

}  // namespace fovea::data
