// The keys that every data set of recordings with transcripts has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/audio/log_mel.h"
#include "data/augment/noise.h"
#include "data/dataset.h"
#include "data/parts/split.h"

namespace fovea::data {

/// What a network writes.
enum class SpeechUnits { kCharacters, kWords };
enum class LetterCase { kKeep, kLower, kUpper };

struct SpeechOptions : SplitOptions {
  static constexpr Kind kKind = Kind::kSpeech;
  using Common = SpeechOptions;
  static const schema::Fields<SpeechOptions>& keys();

  std::optional<std::int64_t> sample_rate;
  LogMelOptions features;
  bool normalise = true;
  SpeechUnits units = SpeechUnits::kCharacters;
  LetterCase letter_case = LetterCase::kKeep;
  std::int64_t min_freq = 1, max_vocab = 0;
  double min_seconds = 0;
  std::optional<double> max_seconds;
  std::int64_t bucket_batches = 50;
  std::vector<double> speeds;
  double join_prob = 0;
  std::vector<schema::Component> augment;
  NoiseBySplit noise;
  OnBadSample on_bad_sample = OnBadSample::kFail;
};

}  // namespace fovea::data
