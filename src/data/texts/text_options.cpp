#include "data/texts/text_options.h"

#include "data/texts/text_noise.h"

#include <string>

namespace fovea::data {
namespace {

using schema::at_least;
using schema::Fields;

Fields<TextOptions> make_text_keys() {
  using O = TextOptions;
  return Fields<O>{}
      .include(split_fields())
      .add("val_every", &O::val_every, schema::in_range(0, 1000000),
           "hold out every val_every-th text of each class of train as val, in the order of the "
           "files, instead of split.val; 0: off")
      .add_enum("encoding", &O::encoding, text_encodings(), kTextEncodingHelp)
      .add_enum("tokeniser", &O::tokeniser,
                {{"basic_english", Tokeniser::kBasicEnglish},
                 {"whitespace", Tokeniser::kWhitespace},
                 {"word", Tokeniser::kWord},
                 {"wordpunct", Tokeniser::kWordpunct}},
                "how texts are split into words; all make ASCII letters lower case (dgsa 7)")
      .add("min_freq", &O::min_freq, at_least(1),
           "words that occur less often in train are unknown words")
      .add("max_vocab", &O::max_vocab, at_least(0),
           "the most frequent words are kept, up to this size with padding and unknown; 0: all")
      .add("max_len", &O::max_len, at_least(1), "words kept of a text, the first ones")
      .add("pad_to_max", &O::pad_to_max,
           "pad every batch to max_len instead of its longest text; results are the same")
      .add("bucket_batches", &O::bucket_batches, at_least(0),
           "training texts are shuffled, then sorted by length within this many batches, so that "
           "the texts of a batch have about the same length; 0: shuffled only")
      .add_enum("on_empty", &O::on_empty,
                {{"fail", OnEmpty::kFail}, {"keep", OnEmpty::kKeep}, {"skip", OnEmpty::kSkip}},
                "a text without a word ends the run, is one unknown word, or is left out and "
                "counted")
      .add_object("noise", &O::noise, noise_fields(text_noise()), "corruptions (dgsa section 8)")
      .check([](const O& o) {
        return o.val_every == 1 ||
                       (o.val_every > 0 && (o.split.cuts_val() || !o.split.by_group.empty()))
                   ? std::string(
                         "val_every is 1, or split has val, fold or by_group too; choose "
                         "one of them")
                   : std::string();
      });
}

}  // namespace

const Fields<TextOptions>& TextOptions::keys() {
  static const Fields<TextOptions> keys = make_text_keys();
  return keys;
}

}  // namespace fovea::data
