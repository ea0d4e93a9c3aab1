#include "data/texts/text_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "data/registry.h"
#include "data/texts/tokeniser.h"

namespace fovea::data {

namespace {

// Members of the description.
constexpr const char* kTexts = "texts";
constexpr const char* kClassNames = "class_names";

}  // namespace

std::shared_ptr<const Vocabulary> vocabulary_beside(const WeightFiles* weights) {
  const std::string* text = weights == nullptr ? nullptr : weights->find(kVocabularyFile);
  if (text == nullptr) return nullptr;
  return std::make_shared<const Vocabulary>(
      Vocabulary::parse(*text, weights->path_of(kVocabularyFile)));
}

TextPart::TextPart(TextSource source, const TextOptions& options) : source_(std::move(source)) {
  std::unordered_map<std::string, std::int32_t> places;
  words_.reserve(source_.documents.size());
  for (const Document& document : source_.documents) {
    labels_.push_back(document.label);
    std::vector<std::int32_t>& words = words_.emplace_back();
    for (std::string& word : tokenise(options.tokeniser, document.text)) {
      const auto next = static_cast<std::int32_t>(distinct_.size());
      const auto [place, fresh] = places.emplace(std::move(word), next);
      if (fresh) distinct_.push_back(place->first);
      words.push_back(place->second);
    }
  }
}

WordCounts TextPart::count_words(const std::vector<std::int64_t>& documents) const {
  std::vector<std::int64_t> times(distinct_.size(), 0);
  for (const std::int64_t i : documents) {
    for (const std::int32_t word : words(i)) ++times[static_cast<std::size_t>(word)];
  }
  WordCounts counts;
  for (std::size_t word = 0; word < times.size(); ++word) {
    if (times[word] > 0) counts[distinct_[word]] = times[word];
  }
  return counts;
}

TextDataset::TextDataset(std::shared_ptr<const TextPart> part, Split split,
                         const std::vector<std::int64_t>& indices, const TextOptions& options,
                         std::shared_ptr<const Vocabulary> vocabulary)
    : Dataset(part, split, options, options.noise, text_noise()),
      part_(std::move(part)),
      options_(options),
      fields_{
          {"tokens", DType::kInt64, Collate::kPad, {}, options.pad_to_max ? options.max_len : 1},
          {"label", DType::kInt64, Collate::kStack, {}}},
      vocabulary_(std::move(vocabulary)) {
  std::vector<std::int64_t> texts(class_names().size(), 0);
  for (const std::int64_t i : indices) {
    const Document& document = part_->document(i);
    if (part_->words(i).empty() && options_.on_empty != OnEmpty::kKeep) {
      const std::string complaint = fmt::format(
          "{}: holds no word; expected a text; dataset.on_empty=keep takes it for one unknown "
          "word, skip leaves it out",
          document.name);
      FOVEA_CHECK(options_.on_empty == OnEmpty::kSkip, FileError, complaint);
      left_out_.push_back(fmt::format("{}: holds no word", document.name));
      continue;
    }
    indices_.push_back(i);
    ++texts[static_cast<std::size_t>(document.label)];
  }
  FOVEA_CHECK(!indices_.empty() || part_->is_described(), FileError,
              fmt::format("dataset: split {} is left without texts", name_of(split)));
  for (std::size_t c = 0; split == Split::kTrain && c < texts.size(); ++c) {
    FOVEA_CHECK(texts[c] > 0, FileError,
                fmt::format("dataset: class \"{}\" has no text in train; expected at least one of "
                            "each of the {} classes",
                            class_names()[c], texts.size()));
  }
  number_words();
}

void TextDataset::number_words() {
  std::vector<std::int32_t> id_of;
  for (const std::string& word : part_->distinct_words())
    id_of.push_back(static_cast<std::int32_t>(vocabulary_->id(word)));
  for (const std::int64_t i : indices_) {
    std::vector<std::int32_t>& ids = ids_.emplace_back();
    for (const std::int32_t word : part_->words(i))
      ids.push_back(id_of[static_cast<std::size_t>(word)]);
    if (ids.empty()) ids.push_back(static_cast<std::int32_t>(Vocabulary::kUnknown));
  }
}

SampleShape TextDataset::shape() const {
  SampleShape shape;
  shape.classes = num_classes();
  shape.vocab_size = vocabulary_->size();
  shape.max_len = options_.max_len;
  return shape;
}

schema::Value TextDataset::description() const {
  return schema::Value::object(
      {{kTexts, schema::Value::object({{kClassNames, schema::Value::array(class_names())}})}});
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

ReadText TextDataset::read(std::string_view text) const {
  ReadText read;
  read.words = tokenise(options_.tokeniser, text);
  if (const auto kept = static_cast<std::size_t>(options_.max_len); read.words.size() > kept) {
    read.cut = std::ssize(read.words) - options_.max_len;
    read.words.resize(kept);
  }
  read.ids = ids_of(read.words);
  if (read.words.empty()) read.words = {vocabulary_->token(Vocabulary::kUnknown)};
  return read;
}

std::vector<std::size_t> ReadText::unknown() const {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == Vocabulary::kUnknown) places.push_back(i);
  }
  return places;
}

std::int64_t TextDataset::length(std::int64_t i) const {
  return std::min<std::int64_t>(options_.max_len, std::ssize(ids_[static_cast<std::size_t>(i)]));
}

Ids TextDataset::encode(std::int64_t i, const Draw& draw) const {
  const std::int64_t index = source_index(i);
  const auto& clean = ids_[static_cast<std::size_t>(i)];
  Ids ids(clean.begin(), clean.end());
  const RandomStream noise = stream(draw, index).fork("noise");
  const std::int64_t words = vocabulary_->size();
  if (draw.augment) {
    if (const auto drawn = draw_noise(train_noise(), noise))
      ids = corrupt(ids, *drawn, noise, words);
  }
  if (draw.corruption) ids = corrupt(ids, *draw.corruption, noise, words);
  if (std::ssize(ids) > options_.max_len) ids.resize(static_cast<std::size_t>(options_.max_len));
  return ids;
}

void TextDataset::prepare(std::int64_t i, const Draw& draw, Sample& into) const {
  const Ids ids = encode(i, draw);
  into.index = i;
  into.set("tokens", Tensor::from(ids, {std::ssize(ids)}, host()));
  *into.at("label").data<std::int64_t>() = label(i);
}

Sample TextDataset::get(std::int64_t i) const {
  Sample sample = blank();
  prepare(i, {}, sample);
  sample.name = name(i);
  return sample;
}

std::map<std::string, std::string> TextDataset::weight_files() const {
  return {{kVocabularyFile, vocabulary_->to_text()}};
}

void TextDataset::check_weight_files(const std::map<std::string, std::string>& files,
                                     const std::string& folder) const {
  const std::string name = folder + "/" + kVocabularyFile;
  const auto found = files.find(kVocabularyFile);
  FOVEA_CHECK(found != files.end(), FileError,
              fmt::format("{}: not found; the checkpoint of a text task has one", name));
  const Vocabulary stored = Vocabulary::parse(found->second, name);
  if (stored == *vocabulary_) return;
  std::int64_t id = 0;
  while (id < stored.size() && id < vocabulary_->size() &&
         stored.token(id) == vocabulary_->token(id))
    ++id;
  const auto token = [&](const Vocabulary& v) {
    return id < v.size() ? fmt::format("\"{}\"", v.token(id)) : std::string("nothing");
  };
  throw FileError(fmt::format(
      "{}: does not fit the data set: {} words against {}, first difference at id {}: {} against "
      "{}; the data set has changed since the weights were trained",
      name, stored.size(), vocabulary_->size(), id, token(stored), token(*vocabulary_)));
}

Configured configured(TextOptions options, OpenTexts open, const MakeOptions& how) {
  if (how.survey) {
    if (options.on_empty == OnEmpty::kFail) options.on_empty = OnEmpty::kSkip;
    options.max_len = std::numeric_limits<std::int64_t>::max();
  }
  Configured result;
  result.options = options;
  result.rules.val_every = options.val_every;
  result.open = [options, open = std::move(open)](Split split) -> std::shared_ptr<const Part> {
    std::optional<TextSource> source = open(split);
    if (!source) return nullptr;
    return std::make_shared<const TextPart>(std::move(*source), options);
  };
  const auto given = vocabulary_beside(how.weights.get());
  result.make = [options, vocabulary = given](
                    Split split, const auto& find) mutable -> std::shared_ptr<const Dataset> {
    const std::optional<Chosen> chosen = find(split);
    if (!chosen) return nullptr;
    // What `open` above gave.
    const auto part_of = [](const Chosen& c) {
      return std::static_pointer_cast<const TextPart>(c.part);
    };
    if (vocabulary == nullptr) {
      const Chosen train = *find(Split::kTrain);
      vocabulary = std::make_shared<const Vocabulary>(Vocabulary::build(
          part_of(train)->count_words(train.indices), options.min_freq, options.max_vocab));
    }
    return std::make_shared<const TextDataset>(part_of(*chosen), split, chosen->indices, options,
                                               vocabulary);
  };
  result.describe = [options, given, classes = how.num_classes](
                        const schema::Value& description) -> std::shared_ptr<const Dataset> {
    const schema::Value& texts = described_as(description, kTexts);
    std::vector<std::string> names;
    for (const schema::Value& name : texts.at(kClassNames).items())
      names.push_back(name.as_string());
    if (given == nullptr || (names.empty() && !classes)) return nullptr;
    if (names.empty()) names = numbered_classes(*classes);
    return std::make_shared<const TextDataset>(std::make_shared<const TextPart>(std::move(names)),
                                               Split::kTest, std::vector<std::int64_t>(), options,
                                               given);
  };
  return result;
}

const TextDataset& texts_of(const Dataset& dataset) {
  const auto* texts = dynamic_cast<const TextDataset*>(&dataset);
  FOVEA_CHECK(texts != nullptr, ConfigError, "dataset: holds no texts; expected texts");
  return *texts;
}

}  // namespace fovea::data
