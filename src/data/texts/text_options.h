// The keys that every data set of texts has.
#pragma once

#include <cstdint>

#include "data/augment/noise.h"
#include "data/files/text_decode.h"
#include "data/parts/split.h"
#include "data/texts/tokeniser.h"

namespace fovea::data {

/// What happens to a text without a single word.
enum class OnEmpty {
  kFail,  // the run ends with its name
  kKeep,  // it is one unknown word (dgsa section 7)
  kSkip,  // it is left out and counted
};

struct TextOptions : SplitOptions {
  static constexpr Kind kKind = Kind::kTexts;
  using Common = TextOptions;
  static const schema::Fields<TextOptions>& keys();

  std::int64_t val_every = 0;
  TextEncoding encoding = TextEncoding::kAuto;
  Tokeniser tokeniser = Tokeniser::kBasicEnglish;
  std::int64_t min_freq = 2;
  std::int64_t max_vocab = 60000;
  std::int64_t max_len = 256;
  bool pad_to_max = false;
  std::int64_t bucket_batches = 50;
  OnEmpty on_empty = OnEmpty::kFail;
  NoiseBySplit noise;
};

}  // namespace fovea::data
