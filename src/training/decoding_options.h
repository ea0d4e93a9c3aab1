// How transcribers' logits become text: "eval.decoding" of an experiment file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/described/weight_files.h"
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

/// The sentences that a model of n-grams was counted in, beside the weights: as they are compared,
/// and the value of ngram_text that they are of.
inline constexpr const char* kSentencesFile = "sentences.json";
struct CountedSentences {
  std::string ngram_text;
  std::vector<std::string> sentences;
};
std::string to_text(const CountedSentences& counted);
/// Those that lie beside weights, if they are of options.ngram_text; else nothing. Throws
/// FileError.
std::optional<CountedSentences> sentences_beside(const data::WeightFiles* weights,
                                                 const DecodingOptions& options);
/// Whether the transcripts of train are asked for, since none lie beside the weights.
bool needs_transcripts(const DecodingOptions& options, const data::WeightFiles* weights);

}  // namespace fovea::training
