#include "data/text_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace fovea::data {

TextPart::TextPart(TextSource source, const TextOptions& options) : source_(std::move(source)) {
  std::unordered_map<std::string, std::int32_t> places;
  words_.reserve(source_.documents.size());
  for (const Document& document : source_.documents) {
    std::vector<std::int32_t>& words = words_.emplace_back();
    for (std::string& word : tokenise(options.tokeniser, document.text)) {
      const auto next = static_cast<std::int32_t>(distinct_.size());
      const auto [place, fresh] = places.emplace(std::move(word), next);
      if (fresh) distinct_.push_back(place->first);
      words.push_back(place->second);
    }
  }
}

std::vector<std::int64_t> TextPart::labels() const {
  std::vector<std::int64_t> labels;
  labels.reserve(source_.documents.size());
  for (const Document& document : source_.documents) labels.push_back(document.label);
  return labels;
}

TextDataset::TextDataset(std::shared_ptr<const TextPart> part, Split split,
                         const std::vector<std::int64_t>& indices, const TextOptions& options)
    : part_(std::move(part)),
      split_(split),
      options_(options),
      train_noise_(make_noise(options.noise.train)),
      eval_noise_(make_noise(options.noise.eval)) {
  std::vector<std::int64_t> texts(part_->source().class_names.size(), 0);
  for (const std::int64_t i : indices) {
    const Document& document = part_->source().documents[static_cast<std::size_t>(i)];
    if (part_->words(i).empty() && options_.on_empty != OnEmpty::kKeep) {
      const std::string complaint = fmt::format(
          "{}: holds no word; expected a text; dataset.on_empty=keep takes it for one unknown "
          "word, skip leaves it out",
          document.name);
      FOVEA_CHECK(options_.on_empty == OnEmpty::kSkip, FileError, complaint);
      left_out_.push_back(document.name);
      continue;
    }
    indices_.push_back(i);
    ++texts[static_cast<std::size_t>(document.label)];
  }
  FOVEA_CHECK(!indices_.empty(), FileError,
              fmt::format("dataset: split {} is left without texts", name_of(split_)));
  for (std::size_t c = 0; split_ == Split::kTrain && c < texts.size(); ++c) {
    FOVEA_CHECK(texts[c] > 0, FileError,
                fmt::format("dataset: class \"{}\" has no text in train; expected at least one of "
                            "each of the {} classes",
                            class_names()[c], texts.size()));
  }
}

void TextDataset::count_words(WordCounts& counts) const {
  std::vector<std::int64_t> times(part_->distinct_words().size(), 0);
  for (const std::int64_t i : indices_) {
    for (const std::int32_t word : part_->words(i)) ++times[static_cast<std::size_t>(word)];
  }
  for (std::size_t word = 0; word < times.size(); ++word) {
    if (times[word] > 0) counts[part_->distinct_words()[word]] += times[word];
  }
}

void TextDataset::set_vocabulary(std::shared_ptr<const Vocabulary> vocabulary) {
  vocabulary_ = std::move(vocabulary);
  std::vector<std::int32_t> id_of;
  for (const std::string& word : part_->distinct_words())
    id_of.push_back(static_cast<std::int32_t>(vocabulary_->id(word)));
  ids_.clear();
  for (const std::int64_t i : indices_) {
    std::vector<std::int32_t>& ids = ids_.emplace_back();
    for (const std::int32_t word : part_->words(i))
      ids.push_back(id_of[static_cast<std::size_t>(word)]);
    if (ids.empty()) ids.push_back(static_cast<std::int32_t>(Vocabulary::kUnknown));
  }
}

std::vector<std::string> TextDataset::words(std::int64_t i) const {
  const auto& all = part_->words(source_index(i));
  std::vector<std::string> words;
  for (const std::int32_t word : all) {
    if (std::ssize(words) == options_.max_len) break;
    words.push_back(part_->distinct_words()[static_cast<std::size_t>(word)]);
  }
  return words;
}

std::vector<std::string> TextDataset::words_of(std::string_view text) const {
  std::vector<std::string> words = tokenise(options_.tokeniser, text);
  if (std::ssize(words) > options_.max_len)
    words.resize(static_cast<std::size_t>(options_.max_len));
  return words;
}

Ids TextDataset::ids_of(const std::vector<std::string>& words) const {
  Ids ids;
  for (const std::string& word : words) ids.push_back(vocabulary_->id(word));
  if (ids.empty()) ids.push_back(Vocabulary::kUnknown);
  return ids;
}

std::int64_t TextDataset::source_index(std::int64_t i) const {
  FOVEA_CHECK(i >= 0 && i < size(), ShapeError, fmt::format("dataset: text {} of {}", i, size()));
  return indices_[static_cast<std::size_t>(i)];
}

std::int64_t TextDataset::length(std::int64_t i) const {
  return std::min<std::int64_t>(options_.max_len, std::ssize(ids_[static_cast<std::size_t>(i)]));
}

Ids TextDataset::encode(std::int64_t i, const TextDraw& draw) const {
  const std::int64_t index = source_index(i);
  const auto& clean = ids_[static_cast<std::size_t>(i)];
  Ids ids(clean.begin(), clean.end());
  const RandomStream stream = RandomStream(draw.seed)
                                  .fork("data")
                                  .fork(name_of(split_))
                                  .fork(static_cast<std::uint64_t>(draw.epoch))
                                  .fork(static_cast<std::uint64_t>(index))
                                  .fork("noise");
  if (draw.augment) ids = apply_noise(ids, train_noise_, stream, vocabulary_->size());
  if (draw.corruption) ids = corrupt(ids, *draw.corruption, stream, vocabulary_->size());
  if (std::ssize(ids) > options_.max_len) ids.resize(static_cast<std::size_t>(options_.max_len));
  return ids;
}

}  // namespace fovea::data
