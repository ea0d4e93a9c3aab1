#include "training/decoding_options.h"

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

}  // namespace fovea::training
