// Recordings with transcripts as features with symbols: chosen samples, resampling, noise, log-mel
// features, augmentation. mala 7.5.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/audio/log_mel.h"
#include "data/audio/speech_options.h"
#include "data/audio/speech_part.h"
#include "data/augment/transforms.h"
#include "data/dataset.h"
#include "data/texts/vocabulary.h"

namespace fovea::data {

/// Symbols of transcripts: characters or words, with CTC's blank in the place of padding.
class Speller {
 public:
  static constexpr std::int64_t kBlank = Vocabulary::kPadding;

  Speller(SpeechUnits units, LetterCase letter_case) : units_(units), case_(letter_case) {}
  /// The transcript as it is compared and learned: case, and one space between words.
  std::string normalised(std::string_view transcript) const;
  /// Of a normalised transcript.
  std::vector<std::string> units_of(const std::string& transcript) const;
  std::string text_of(const std::vector<std::string>& units) const;

 private:
  SpeechUnits units_;
  LetterCase case_;
};

/// Samples hold "features" (t, mels), "num_frames" () and "symbols" (s), ids of the vocabulary,
/// which are CTC's targets. A recording shorter than a window is one frame, with silence behind it.
class SpeechDataset final : public Dataset {
 public:
  /// indices: the recordings of `part` that belong to this split, ascending. Recordings of train
  /// outside min_seconds and max_seconds are left out with a note. Throws FileError for those that
  /// cannot be read, unless they may be left out.
  SpeechDataset(std::shared_ptr<const SpeechPart> part, Split split,
                const std::vector<std::int64_t>& indices, const SpeechOptions& options,
                std::int64_t sample_rate, std::shared_ptr<const Vocabulary> vocabulary);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const SpeechOptions& options() const { return options_; }
  const LogMel& log_mel() const { return log_mel_; }
  const std::vector<std::string>& output_names() const override { return output_names_; }
  const std::vector<Field>& fields() const override { return fields_; }
  SampleShape shape() const override;
  schema::Value description() const override;
  void prepare(std::int64_t i, const Draw& draw, Sample& into) const override;
  Sample get(std::int64_t i) const override;
  bool skips_bad_samples() const override { return options_.on_bad_sample == OnBadSample::kSkip; }
  /// Frames.
  std::int64_t length(std::int64_t i) const override { return frames_of(source_index(i)); }
  std::int64_t bucket_batches() const override { return options_.bucket_batches; }
  std::map<std::string, std::string> weight_files() const override;
  void check_weight_files(const std::map<std::string, std::string>& files,
                          const std::string& folder) const override;

  /// What is said, as it is compared.
  std::string transcript(std::int64_t i) const;
  /// Any text as transcripts are compared.
  std::string normalised(const std::string& text) const { return speller_.normalised(text); }
  /// The symbols of a transcript; unknown units are Vocabulary::kUnknown.
  std::vector<std::int64_t> symbols_of(const std::string& transcript) const;
  /// The text of symbols without blanks.
  std::string text_of(const std::vector<std::int64_t>& symbols) const;
  /// A batch of "features" and "num_frames" of any file. Throws FileError.
  Batch batch_of_file(const std::filesystem::path& file) const;
  double seconds(std::int64_t i) const { return part_->recording(source_index(i)).seconds(); }

 private:
  std::int64_t frames_of(std::int64_t source_index) const;
  void leave_out_by_length();
  /// Samples at the rate of the features, a window of them or more, of the sound played `speed`
  /// times as fast.
  std::vector<float> at_rate(const Sound& sound, double speed) const;
  /// Of dataset.speeds; 1 without any.
  double drawn_speed(const RandomStream& stream) const;
  /// Another recording behind it, with probability join_prob: its place in this data set.
  std::optional<std::int64_t> drawn_follower(const RandomStream& stream) const;
  std::vector<float> features_of(const std::vector<float>& samples) const;

  std::shared_ptr<const SpeechPart> part_;
  SpeechOptions options_;
  Speller speller_;
  LogMel log_mel_;
  std::vector<Field> fields_;
  std::vector<std::unique_ptr<const FeatureTransform>> augment_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::string> output_names_;
};

/// Null for a data set of another kind.
const SpeechDataset* find_speech(const Dataset& dataset);

}  // namespace fovea::data
