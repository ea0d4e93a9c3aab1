#include "training/decoding_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "schema/json/parse.h"

namespace fovea::training {

schema::Fields<DecodingOptions> decoding_fields() {
  using O = DecodingOptions;
  return schema::Fields<O>{}
      .add("beam_width", &O::beam_width, schema::in_range(1, 10000),
           "prefixes that a beam search keeps; 1 without a language model: the best symbol of "
           "every frame")
      .add("ngram_order", &O::ngram_order, schema::in_range(0, 20),
           "order of a model of n-grams of symbols that the beam search consults; 0 = none")
      .add("ngram_text", &O::ngram_text,
           "file of sentences, one a line, that these are counted in; \"\" = the transcripts of "
           "train")
      .add("language_weight", &O::language_weight, schema::at_least(0),
           "factor of the language model's logarithms")
      .add("symbol_bonus", &O::symbol_bonus, schema::any(),
           "added for every symbol, since a language model likes short texts")
      .check([](const O& o) {
        return o.ngram_text.empty() || o.ngram_order > 0
                   ? std::string()
                   : std::string("ngram_text is given, but ngram_order is 0");
      });
}

std::string to_text(const CountedSentences& counted) {
  return schema::Value::object({{"ngram_text", counted.ngram_text},
                                {"sentences", schema::Value::array(counted.sentences)}})
             .dump() +
         "\n";
}

std::optional<CountedSentences> sentences_beside(const data::WeightFiles* weights,
                                                 const DecodingOptions& options) {
  const std::string* text = weights == nullptr ? nullptr : weights->find(kSentencesFile);
  if (text == nullptr) return std::nullopt;
  const std::string file = weights->path_of(kSentencesFile);
  schema::Limits limits;
  limits.bytes = text->size();
  try {
    const schema::Value stored = schema::parse(*text, file, limits);
    CountedSentences counted{stored.at("ngram_text").as_string(), {}};
    if (counted.ngram_text != options.ngram_text) return std::nullopt;
    for (const schema::Value& sentence : stored.at("sentences").items())
      counted.sentences.push_back(sentence.as_string());
    return counted;
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: damaged: {}", file, error.what()));
  }
}

bool needs_transcripts(const DecodingOptions& options, const data::WeightFiles* weights) {
  return options.ngram_order > 0 && options.ngram_text.empty() &&
         !sentences_beside(weights, options);
}

}  // namespace fovea::training
