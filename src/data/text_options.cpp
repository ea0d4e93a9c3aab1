#include "data/text_options.h"

namespace fovea::data {
namespace {

using schema::at_least;
using schema::Fields;
using schema::greater_than;
using schema::in_range;
using schema::less_than;

Fields<TextNoiseOptions> noise_fields(bool train) {
  std::vector<std::string> names;
  for (const TextCorruption type : all_text_corruptions()) names.emplace_back(name_of(type));
  Fields<TextNoiseOptions> fields;
  if (train) {
    fields.add("preset", &TextNoiseOptions::preset, schema::one_of({"", "noisy_train"}),
               "\"noisy_train\": types insert, replace, delete at levels 0.1 to 0.5");
  }
  fields
      .add("types", &TextNoiseOptions::types, schema::one_of(names),
           "corruptions to draw from; empty: no noise")
      .add("levels", &TextNoiseOptions::levels, greater_than(0) && less_than(1),
           "levels to draw from: the share of the words that is hit");
  if (train) {
    fields
        .add("prob", &TextNoiseOptions::prob, in_range(0, 1),
             "share of the texts that is corrupted")
        .check([](const TextNoiseOptions& o) {
          return o.preset.empty() || o.types.empty()
                     ? std::string()
                     : std::string("preset and types are both given; choose one");
        });
  }
  return fields;
}

Fields<TextOptions> make_text_fields() {
  using O = TextOptions;
  const auto noise =
      Fields<TextNoiseBySplit>{}
          .add_object("train", &TextNoiseBySplit::train, noise_fields(true),
                      "noise on training texts, drawn anew in every epoch")
          .add_object("eval", &TextNoiseBySplit::eval, noise_fields(false),
                      "the types and levels that a robustness evaluation walks through")
          .no_effect();  // only eval reads it
  return Fields<O>{}
      .include(split_fields())
      .add("val_every", &O::val_every, schema::in_range(0, 1000000),
           "every so many-th text of each class of train is held out as val, in the order of the "
           "files, instead of split.val; 0: off")
      .add_enum("encoding", &O::encoding,
                {{"auto", TextEncoding::kAuto},
                 {"utf8", TextEncoding::kUtf8},
                 {"latin1", TextEncoding::kLatin1},
                 {"utf16", TextEncoding::kUtf16}},
                "of the files; auto: by the byte order mark, UTF-8 if valid, else Latin-1 "
                "(Windows-1252)")
      .add_enum("tokeniser", &O::tokeniser,
                {{"basic_english", Tokeniser::kBasicEnglish},
                 {"whitespace", Tokeniser::kWhitespace},
                 {"word", Tokeniser::kWord},
                 {"wordpunct", Tokeniser::kWordpunct}},
                "how texts are cut into words; all make ASCII letters lower case (dgsa 7)")
      .add("min_freq", &O::min_freq, at_least(1),
           "words that occur less often in train are unknown words")
      .add("max_vocab", &O::max_vocab, at_least(0),
           "the most frequent words are kept, up to this size with padding and unknown; 0: all")
      .add("max_len", &O::max_len, at_least(1), "words kept of a text, the first ones")
      .add("pad_to_max", &O::pad_to_max,
           "pad every batch to max_len instead of its longest text; results are the same")
      .add("bucket_batches", &O::bucket_batches, at_least(0),
           "training texts are shuffled and sorted by length within so many batches, so that those "
           "of one batch are about as long; 0: plain shuffling")
      .add_enum("on_empty", &O::on_empty,
                {{"fail", OnEmpty::kFail}, {"keep", OnEmpty::kKeep}, {"skip", OnEmpty::kSkip}},
                "a text without a word ends the run, is one unknown word, or is left out and "
                "counted")
      .add_object("noise", &O::noise, noise, "corruptions (dgsa section 8)")
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

TextNoise make_noise(const TextNoiseOptions& options) {
  TextNoise noise{{}, options.levels, options.prob};
  if (options.preset == "noisy_train") {
    const auto all = all_text_corruptions();
    noise.types.assign(all.begin(), all.begin() + 3);
  }
  for (const std::string& name : options.types)
    noise.types.push_back(text_corruption_from_name(name));
  return noise;
}

const Fields<TextOptions>& text_fields() {
  static const Fields<TextOptions> fields = make_text_fields();
  return fields;
}

}  // namespace fovea::data
