#include "data/streams/stream_options.h"

#include <utility>

#include "data/streams/byte_pairs.h"
#include "data/streams/sentence_pieces.h"
#include "schema/fields.h"

namespace fovea::data {
namespace {

using schema::at_least;
using schema::Fields;

struct NoStreamOptions {};

struct StreamWordOptions {
  std::int64_t min_freq = 2;
  std::int64_t max_vocab = 60000;
};

struct BytePairOptions {
  std::int64_t vocab_size = 4096;
  std::int64_t min_freq = 2;
};

struct Gpt2Options {
  std::string vocab = "datasets/gpt2/vocab.json";
  std::string merges = "datasets/gpt2/merges.txt";
};

struct SentencePieceOptions {
  std::string model;
};

template <class Options, class Make>
StreamTokeniserEntry tokeniser_entry(std::string name, std::string help, bool learns,
                                     const Fields<Options>& fields, Make make) {
  const auto shared = std::make_shared<const Fields<Options>>(fields);
  return {{std::move(name), std::move(help), shared},
          learns,
          [shared, make](const schema::Component& component, std::string_view train) {
            return make(shared->parse(component, "dataset.tokeniser"), train);
          }};
}

Fields<StreamOptions> make_stream_keys() {
  using O = StreamOptions;
  return Fields<O>{}
      .include(split_fields())
      .add_enum("encoding", &O::encoding, text_encodings(), kTextEncodingHelp)
      .add_component("tokeniser", &O::tokeniser, stream_tokenisers().choices(),
                     "what the tokens of a text are")
      .add("context", &O::context, at_least(1), "tokens of a sample")
      .add(
          "shift", &O::shift,
          "every epoch of training cuts the text at other places, the same for all samples; false: "
          "always at multiples of context")
      .check([](const O& o) {
        const CutOptions& cut = o.split;
        return !cut.fold.empty() || !cut.by_group.empty() || cut.stratified || !o.exclude.empty()
                   ? std::string(
                         "exclude, split.fold, split.by_group and split.stratified are of "
                         "separate samples; a text is cut once, in order: train, val, test")
                   : std::string();
      });
}

}  // namespace

const schema::Registry<StreamTokeniserEntry>& stream_tokenisers() {
  static const schema::Registry<StreamTokeniserEntry> all = {
      tokeniser_entry("byte", "bytes: 256 tokens, any text in any language", false,
                      Fields<NoStreamOptions>{},
                      [](const NoStreamOptions&, std::string_view) { return byte_tokeniser(); }),
      tokeniser_entry(
          "word", "words between white space, and the ends of lines", true,
          Fields<StreamWordOptions>{}
              .add("min_freq", &StreamWordOptions::min_freq, at_least(1),
                   "words that occur less often in train are unknown words")
              .add("max_vocab", &StreamWordOptions::max_vocab, at_least(0),
                   "the most frequent words are kept, up to this size with padding and unknown; 0: "
                   "all"),
          [](const StreamWordOptions& o, std::string_view train) {
            return word_tokeniser(stream_words(train, o.min_freq, o.max_vocab));
          }),
      tokeniser_entry("bpe", "byte pairs as in GPT-2, learned from train", true,
                      Fields<BytePairOptions>{}
                          .add("vocab_size", &BytePairOptions::vocab_size, at_least(256),
                               "tokens, the 256 bytes included")
                          .add("min_freq", &BytePairOptions::min_freq, at_least(1),
                               "pairs that occur less often are not merged"),
                      [](const BytePairOptions& o, std::string_view train) {
                        return train_byte_pairs(train, o.vocab_size, o.min_freq);
                      }),
      tokeniser_entry("gpt2", "GPT-2's byte pairs, from its files", false,
                      Fields<Gpt2Options>{}
                          .add("vocab", &Gpt2Options::vocab, "tokens and their ids (vocab.json)")
                          .is_file()
                          .add("merges", &Gpt2Options::merges, "merges in their order (merges.txt)")
                          .is_file(),
                      [](const Gpt2Options& o, std::string_view) {
                        return load_gpt2_tokeniser(o.vocab, o.merges);
                      }),
      tokeniser_entry("sentencepiece", "the pieces of a model of SentencePiece", false,
                      Fields<SentencePieceOptions>{}
                          .add("model", &SentencePieceOptions::model,
                               "its file (.model), of byte pairs or a unigram model")
                          .is_file()
                          .required(),
                      [](const SentencePieceOptions& o, std::string_view) {
                        return load_sentence_pieces(o.model);
                      })};
  return all;
}

const Fields<StreamOptions>& StreamOptions::keys() {
  static const Fields<StreamOptions> keys = make_stream_keys();
  return keys;
}

std::optional<SampleShape> StreamOptions::sample_shape() const {
  SampleShape shape;
  shape.max_len = context;
  if (tokeniser.type == "byte") shape.vocab_size = byte_tokeniser()->size();
  return shape;
}

}  // namespace fovea::data
