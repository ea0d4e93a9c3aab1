// Texts as numbers of words, with classes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/described/weight_files.h"
#include "data/texts/text_noise.h"
#include "data/texts/text_options.h"
#include "data/texts/text_source.h"
#include "data/texts/vocabulary.h"

namespace fovea::data {

/// Name of the vocabulary in run folders and checkpoints.
inline constexpr const char* kVocabularyFile = "vocabulary.txt";

/// The vocabulary that lies beside weights; null where there is none. Throws FileError.
std::shared_ptr<const Vocabulary> vocabulary_beside(const WeightFiles* weights);

/// The texts of one part, tokenised once. Words are kept as places in a list of the distinct ones.
class TextPart final : public Part {
 public:
  TextPart(TextSource source, const TextOptions& options);
  /// Without texts.
  explicit TextPart(std::vector<std::string> class_names) : described_(true) {
    source_.class_names = std::move(class_names);
  }
  bool is_described() const override { return described_; }

  const std::vector<std::string>& class_names() const override { return source_.class_names; }
  std::string name(std::int64_t i) const override { return document(i).name; }
  std::vector<std::filesystem::path> files() const override { return source_.files; }
  const Document& document(std::int64_t i) const {
    return source_.documents[static_cast<std::size_t>(i)];
  }
  const std::vector<std::string>& distinct_words() const { return distinct_; }
  /// Words of a text, as places in distinct_words().
  const std::vector<std::int32_t>& words(std::int64_t document) const {
    return words_[static_cast<std::size_t>(document)];
  }
  /// How often each word occurs in some of the texts.
  WordCounts count_words(const std::vector<std::int64_t>& documents) const;

 private:
  TextSource source_;
  bool described_ = false;
  std::vector<std::string> distinct_;
  std::vector<std::vector<std::int32_t>> words_;
};

/// What a network reads of a text: the words in front, some of which it does not know.
struct ReadText {
  std::vector<std::string> words;  // the first max_len; of a text without words the one unknown
  Ids ids;                         // of these
  std::int64_t cut = 0;            // words behind them

  /// Places of the words that are not in the vocabulary.
  std::vector<std::size_t> unknown() const;
};

/// Samples hold "tokens" and "label".
class TextDataset final : public Dataset {
 public:
  /// indices: the texts of `part` that belong to this split, ascending. Texts without a word are
  /// treated as options.on_empty says. Throws FileError if one may not be there, if nothing is
  /// left, and, for train, if a class has no text.
  TextDataset(std::shared_ptr<const TextPart> part, Split split,
              const std::vector<std::int64_t>& indices, const TextOptions& options,
              std::shared_ptr<const Vocabulary> vocabulary);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const TextOptions& options() const { return options_; }

  const std::vector<Field>& fields() const override { return fields_; }
  SampleShape shape() const override;
  schema::Value description() const override;
  /// Noise, then truncation; never empty.
  void prepare(std::int64_t i, const Draw& draw, Sample& into) const override;
  Sample get(std::int64_t i) const override;
  /// Number of ids without noise, at most max_len.
  std::int64_t length(std::int64_t i) const override;
  std::int64_t bucket_batches() const override { return options_.bucket_batches; }
  std::map<std::string, std::string> weight_files() const override;
  void check_weight_files(const std::map<std::string, std::string>& files,
                          const std::string& folder) const override;

  // i in [0, size()).
  const std::string& text(std::int64_t i) const { return part_->document(source_index(i)).text; }
  /// Its words, the first max_len of them.
  std::vector<std::string> words(std::int64_t i) const;
  /// What prepare() gives as tokens.
  Ids encode(std::int64_t i, const Draw& draw = {}) const;
  // Any text, tokenised like those of the data set.
  /// Its first max_len words.
  std::vector<std::string> words_of(std::string_view text) const;
  /// A text without words is one unknown word.
  Ids ids_of(const std::vector<std::string>& words) const;
  ReadText read(std::string_view text) const;

 private:
  void number_words();

  std::shared_ptr<const TextPart> part_;
  TextOptions options_;
  std::vector<Field> fields_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::vector<std::int32_t>> ids_;  // of every text of the split, not truncated
};

/// The data set as texts. Throws ConfigError for another kind.
const TextDataset& texts_of(const Dataset& dataset);

}  // namespace fovea::data
