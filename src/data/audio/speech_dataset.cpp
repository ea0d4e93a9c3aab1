#include "data/audio/speech_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "data/audio/resample.h"
#include "data/audio/sound_noise.h"
#include "data/described/described_parts.h"
#include "data/registry.h"
#include "data/texts/text_dataset.h"

namespace fovea::data {
namespace {

// Members of the description.
constexpr const char* kRecordings = "recordings";
constexpr const char* kSampleRate = "sample_rate";

bool is_blank_char(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

char cased(char c, LetterCase to) {
  if (to == LetterCase::kLower && c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (to == LetterCase::kUpper && c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  return c;
}

}  // namespace

std::string Speller::normalised(std::string_view transcript) const {
  std::string text;
  bool behind_space = true;
  for (const char c : transcript) {
    if (is_blank_char(c)) {
      if (!behind_space) text += ' ';
    } else {
      text += cased(c, case_);
    }
    behind_space = is_blank_char(c);
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::vector<std::string> Speller::units_of(const std::string& transcript) const {
  std::vector<std::string> units;
  bool fresh = true;
  for (const char c : transcript) {
    const bool space = units_ == SpeechUnits::kWords && c == ' ';
    // Bytes behind the first of a UTF-8 character belong to it.
    const bool follows = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!space) {
      const bool joins = units_ == SpeechUnits::kWords ? !fresh : follows && !units.empty();
      if (!joins) units.emplace_back();
      units.back() += c;
    }
    fresh = space;
  }
  return units;
}

std::string Speller::text_of(const std::vector<std::string>& units) const {
  std::string text;
  for (const std::string& unit : units) {
    if (units_ == SpeechUnits::kWords && !text.empty()) text += ' ';
    text += unit;
  }
  return text;
}

SpeechDataset::SpeechDataset(std::shared_ptr<const SpeechPart> part, Split split,
                             const std::vector<std::int64_t>& indices, const SpeechOptions& options,
                             std::int64_t sample_rate, std::shared_ptr<const Vocabulary> vocabulary)
    : Dataset(part, split, options, options.noise, sound_noise()),
      part_(std::move(part)),
      options_(options),
      speller_(options.units, options.letter_case),
      log_mel_(plan_log_mel(options.features, sample_rate)),
      fields_{{"features", DType::kFloat32, Collate::kPad, {options.features.num_mels}},
              {"num_frames", DType::kInt64, Collate::kStack, {}},
              {"symbols", DType::kInt64, Collate::kPad, {}}},
      vocabulary_(std::move(vocabulary)) {
  for (std::size_t k = 0; k < options_.augment.size(); ++k)
    augment_.push_back(make_feature_transform(
        options_.augment[k], schema::join_path("dataset.augment", std::to_string(k))));
  for (std::int64_t id = 0; id < vocabulary_->size(); ++id)
    output_names_.push_back(vocabulary_->token(id));
  choose(indices);
  if (split == Split::kTrain) leave_out_by_length();
}

void SpeechDataset::leave_out_by_length() {
  const std::size_t before = indices_.size();
  std::erase_if(indices_, [&](std::int64_t index) {
    const double seconds = part_->recording(index).seconds();
    return seconds < options_.min_seconds ||
           (options_.max_seconds && seconds > *options_.max_seconds);
  });
  if (indices_.size() == before) return;
  FOVEA_CHECK(!indices_.empty(), ConfigError,
              fmt::format("dataset.min_seconds: none of the {} recordings of train is as long as "
                          "min_seconds and max_seconds ask for",
                          before));
  own_notes_.push_back(fmt::format(
      "dataset.min_seconds: {} of {} recordings of train are left out, which are too short or "
      "too long",
      before - indices_.size(), before));
}

std::int64_t SpeechDataset::frames_of(std::int64_t index) const {
  const Recording& recording = part_->recording(index);
  const std::int64_t samples =
      resampled_count(recording.samples, recording.sample_rate, log_mel_.plan().sample_rate);
  return log_mel_.frames_of(std::max(samples, log_mel_.plan().win_length));
}

SampleShape SpeechDataset::shape() const {
  SampleShape shape;
  shape.classes = vocabulary_->size();
  shape.mels = options_.features.num_mels;
  for (const std::int64_t index : indices_) shape.frames = std::max(shape.frames, frames_of(index));
  return shape;
}

schema::Value SpeechDataset::description() const {
  return schema::Value::object(
      {{kRecordings, schema::Value::object({{kSampleRate, log_mel_.plan().sample_rate}})}});
}

std::vector<float> SpeechDataset::at_rate(const Sound& sound, double speed) const {
  // Samples that are said to follow each other faster are fewer at the rate of the features.
  const std::int64_t played = std::llround(speed * static_cast<double>(sound.sample_rate));
  std::vector<float> samples = resample(sound.samples, played, log_mel_.plan().sample_rate);
  const auto window = static_cast<std::size_t>(log_mel_.plan().win_length);
  if (samples.size() < window) samples.resize(window, 0.0f);
  return samples;
}

double SpeechDataset::drawn_speed(const RandomStream& stream) const {
  if (options_.speeds.empty()) return 1;
  return options_.speeds[static_cast<std::size_t>(stream.below(std::ssize(options_.speeds), 0))];
}

std::optional<std::int64_t> SpeechDataset::drawn_follower(const RandomStream& stream) const {
  if (stream.uniform(0) >= options_.join_prob) return std::nullopt;
  return stream.below(size(), 1);
}

std::vector<float> SpeechDataset::features_of(const std::vector<float>& samples) const {
  std::vector<float> features = log_mel_(samples);
  if (options_.normalise) normalise_channels(features, options_.features.num_mels);
  return features;
}

void SpeechDataset::prepare(std::int64_t i, const Draw& draw, Sample& into) const {
  const std::int64_t index = source_index(i);
  const RandomStream random = stream(draw, index);
  const double speed = draw.augment ? drawn_speed(random.fork("speed")) : 1;
  std::vector<float> samples = at_rate(part_->read(index), speed);
  std::string said = transcript(i);
  const RandomStream join = random.fork("join");
  const auto follower = draw.augment ? drawn_follower(join) : std::nullopt;
  if (follower) {
    const Sound sound = part_->read(source_index(*follower));
    const std::vector<float> more = at_rate(sound, drawn_speed(join.fork("speed")));
    samples.insert(samples.end(), more.begin(), more.end());
    said = speller_.normalised(said + " " + transcript(*follower));
  }
  const RandomStream noise = random.fork("noise");
  if (draw.augment) {
    if (const auto drawn = draw_noise(train_noise(), noise)) corrupt_sound(samples, *drawn, noise);
  }
  if (draw.corruption) corrupt_sound(samples, *draw.corruption, noise);
  std::vector<float> features = features_of(samples);
  const std::int64_t mels = options_.features.num_mels, frames = std::ssize(features) / mels;
  if (draw.augment) {
    const RandomStream augment = random.fork("augment");
    for (std::size_t k = 0; k < augment_.size(); ++k)
      augment_[k]->apply({frames, mels, features}, augment.fork(k));
  }
  const std::vector<std::int64_t> symbols = symbols_of(said);
  into.index = i;
  into.set("features", Tensor::from(features, {frames, mels}, host()));
  *into.at("num_frames").data<std::int64_t>() = frames;
  into.set("symbols", Tensor::from(symbols, {std::ssize(symbols)}, host()));
}

Sample SpeechDataset::get(std::int64_t i) const {
  Sample sample = blank();
  prepare(i, {}, sample);
  sample.name = name(i);
  return sample;
}

Batch SpeechDataset::batch_of_file(const std::filesystem::path& file) const {
  const std::vector<float> features = features_of(at_rate(read_sound(file), 1));
  const std::int64_t mels = options_.features.num_mels, frames = std::ssize(features) / mels;
  Batch batch;
  batch.set("features", Tensor::from(features, {1, frames, mels}, host()));
  batch.set("num_frames", Tensor::from(std::vector<std::int64_t>{frames}, {1}, host()));
  batch.indices = {0};
  return batch;
}

std::string SpeechDataset::transcript(std::int64_t i) const {
  return speller_.normalised(part_->recording(source_index(i)).transcript);
}

std::vector<std::int64_t> SpeechDataset::symbols_of(const std::string& transcript) const {
  std::vector<std::int64_t> symbols;
  for (const std::string& unit : speller_.units_of(transcript))
    symbols.push_back(vocabulary_->id(unit));
  return symbols;
}

std::string SpeechDataset::text_of(const std::vector<std::int64_t>& symbols) const {
  std::vector<std::string> units;
  for (const std::int64_t symbol : symbols) units.push_back(vocabulary_->token(symbol));
  return speller_.normalised(speller_.text_of(units));
}

std::map<std::string, std::string> SpeechDataset::weight_files() const {
  return {{kVocabularyFile, vocabulary_->to_text()}};
}

void SpeechDataset::check_weight_files(const std::map<std::string, std::string>& files,
                                       const std::string& folder) const {
  const std::string name = folder + "/" + kVocabularyFile;
  const auto found = files.find(kVocabularyFile);
  FOVEA_CHECK(found != files.end(), FileError,
              fmt::format("{}: not found; the checkpoint of a transcriber has one", name));
  const Vocabulary stored = Vocabulary::parse(found->second, name);
  FOVEA_CHECK(stored == *vocabulary_, FileError,
              fmt::format("{}: does not fit the data set: {} symbols against {}, or others; the "
                          "transcripts have changed since the weights were trained",
                          name, stored.size(), vocabulary_->size()));
}

namespace {

std::shared_ptr<const SpeechPart> speech_part_of(const Chosen& chosen) {
  return std::static_pointer_cast<const SpeechPart>(chosen.part);
}

// Of the transcripts of train.
std::shared_ptr<const Vocabulary> vocabulary_of(const Chosen& train, const SpeechOptions& options) {
  const Speller speller(options.units, options.letter_case);
  WordCounts counts;
  for (const std::int64_t i : train.indices) {
    const std::string text = speller.normalised(speech_part_of(train)->recording(i).transcript);
    for (const std::string& unit : speller.units_of(text)) ++counts[unit];
  }
  return std::make_shared<const Vocabulary>(
      Vocabulary::build(counts, options.min_freq, options.max_vocab));
}

std::int64_t described_rate(const schema::Value& description) {
  const std::int64_t rate = described_as(description, kRecordings).at(kSampleRate).as_int();
  FOVEA_CHECK(
      rate > 0, FileError,
      fmt::format("{}: sample_rate is {}; expected a positive number", kDescriptionFile, rate));
  return rate;
}

// That of the first recording that can be read.
std::int64_t rate_of(const Chosen& train) {
  const auto part = speech_part_of(train);
  for (const std::int64_t i : train.indices) {
    if (part->recording(i).samples > 0) return part->recording(i).sample_rate;
  }
  throw FileError("dataset: no recording of train can be read; the first problem: " +
                  (part->problems().empty() ? "all are empty" : part->problems().front().message));
}

}  // namespace

Configured configured(SpeechOptions options, OpenSpeech open, const MakeOptions& how) {
  if (how.survey) options.on_bad_sample = OnBadSample::kSkip;
  Configured result;
  result.options = options;
  result.open = [open = std::move(open)](Split split) -> std::shared_ptr<const Part> {
    return open(split);
  };
  const auto given = vocabulary_beside(how.weights.get());
  auto rate = options.sample_rate;
  if (!rate && how.weights && how.weights->describe())
    rate = described_rate(how.weights->description());
  result.make = [options, vocabulary = given, rate](
                    Split split, const auto& find) mutable -> std::shared_ptr<const Dataset> {
    const std::optional<Chosen> chosen = find(split);
    if (!chosen) return nullptr;
    if (vocabulary == nullptr || !rate) {
      const Chosen train = *find(Split::kTrain);
      if (vocabulary == nullptr) vocabulary = vocabulary_of(train, options);
      if (!rate) rate = rate_of(train);
    }
    return std::make_shared<const SpeechDataset>(speech_part_of(*chosen), split, chosen->indices,
                                                 options, *rate, vocabulary);
  };
  result.describe = [options, given,
                     rate](const schema::Value& description) -> std::shared_ptr<const Dataset> {
    if (given == nullptr) return nullptr;
    return std::make_shared<const SpeechDataset>(std::make_shared<const DescribedSpeech>(),
                                                 Split::kTest, std::vector<std::int64_t>(), options,
                                                 rate.value_or(described_rate(description)), given);
  };
  return result;
}

const SpeechDataset* find_speech(const Dataset& dataset) {
  return dynamic_cast<const SpeechDataset*>(&dataset);
}

}  // namespace fovea::data
