// The keys that every data set of texts has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/split.h"
#include "data/text_decode.h"
#include "data/text_noise.h"
#include "data/tokeniser.h"

namespace fovea::data {

/// What becomes of a text without a single word.
enum class OnEmpty {
  kFail,  // the run ends with its name
  kKeep,  // it is one unknown word (dgsa section 7)
  kSkip,  // it is left out and counted
};

/// A preset, or types and levels (text_noise.h).
struct TextNoiseOptions {
  std::string preset;
  std::vector<std::string> types;
  std::vector<double> levels = {0.1, 0.2, 0.3, 0.4, 0.5};
  double prob = 0.5;
};
/// Throws ConfigError for an unknown name.
TextNoise make_noise(const TextNoiseOptions& options);

struct TextNoiseBySplit {
  TextNoiseOptions train;
  TextNoiseOptions eval;  // the grid of a robustness evaluation; never applied by itself
};

struct TextOptions : SplitOptions {
  static constexpr Kind kKind = Kind::kTexts;
  std::int64_t val_every = 0;
  TextEncoding encoding = TextEncoding::kAuto;
  Tokeniser tokeniser = Tokeniser::kBasicEnglish;
  std::int64_t min_freq = 2;
  std::int64_t max_vocab = 60000;
  std::int64_t max_len = 256;
  bool pad_to_max = false;
  std::int64_t bucket_batches = 50;
  OnEmpty on_empty = OnEmpty::kFail;
  TextNoiseBySplit noise;
};

const schema::Fields<TextOptions>& text_fields();

}  // namespace fovea::data
