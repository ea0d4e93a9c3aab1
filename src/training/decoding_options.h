// How transcribers' logits become text: "eval.decoding" of an experiment file.
#pragma once

#include <cstdint>
#include <string>

#include "schema/fields.h"

namespace fovea::training {

struct DecodingOptions {
  std::int64_t beam_width = 1;
  std::int64_t ngram_order = 0;
  std::string ngram_text;
  double language_weight = 0.5, symbol_bonus = 0;

  bool operator==(const DecodingOptions&) const = default;
};
schema::Fields<DecodingOptions> decoding_fields();

}  // namespace fovea::training
