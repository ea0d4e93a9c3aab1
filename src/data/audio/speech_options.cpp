#include "data/audio/speech_options.h"

#include "data/audio/sound_noise.h"
#include "data/augment/transforms.h"

namespace fovea::data {
namespace {

using schema::at_least;

schema::Fields<SpeechOptions> make_speech_keys() {
  using O = SpeechOptions;
  return schema::Fields<O>{}
      .include(split_fields())
      .add("sample_rate", &O::sample_rate, schema::in_range(1000, 384000),
           "hertz at which features are made; recordings at other rates are resampled; null = that "
           "of the first recording of train")
      .add_object("features", &O::features, log_mel_fields(), "log-mel features (mala 7.5)")
      .add("normalise", &O::normalise,
           "subtract the mean of every channel of a recording's features and divide by its "
           "standard deviation")
      .add_enum("units", &O::units,
                {{"characters", SpeechUnits::kCharacters}, {"words", SpeechUnits::kWords}},
                "the symbols of the network: characters, with the space, or words")
      .add_enum("letter_case", &O::letter_case,
                {{"keep", LetterCase::kKeep},
                 {"lower", LetterCase::kLower},
                 {"upper", LetterCase::kUpper}},
                "transcripts as they are, or with ASCII letters made lower or upper case")
      .add("min_freq", &O::min_freq, at_least(1),
           "units that occur less often in train are unknown ones")
      .add("max_vocab", &O::max_vocab, at_least(0),
           "the most frequent units are kept, up to this size with blank and unknown; 0: all")
      .add("min_seconds", &O::min_seconds, at_least(0),
           "recordings of train that are shorter are left out")
      .add("max_seconds", &O::max_seconds, schema::greater_than(0),
           "recordings of train that are longer are left out; null = none")
      .add("bucket_batches", &O::bucket_batches, at_least(0),
           "training recordings are shuffled, then sorted by length within this many batches, so "
           "that those of a batch are about equally long; 0: shuffled only")
      .add("speeds", &O::speeds, schema::in_range(0.5, 2.0),
           "speeds at which recordings of train are played, pitch and all, one drawn for each in "
           "every epoch: 0.9, 1 and 1.1 in the field (Ko et al. 2015); []: as they are")
      .add("join_prob", &O::join_prob, schema::in_range(0, 1),
           "probability that a recording of train is followed by another one of train, drawn anew "
           "in every epoch, with what is said in both; the two may be played at different speeds")
      .add_component("augment", &O::augment, transform_choices(kFeatures),
                     "random changes of training features, in this order")
      .add_object("noise", &O::noise, noise_fields(sound_noise()), "noise on the recordings")
      .add_enum("on_bad_sample", &O::on_bad_sample, bad_sample_words(), kBadSampleHelp);
}

}  // namespace

const schema::Fields<SpeechOptions>& SpeechOptions::keys() {
  static const schema::Fields<SpeechOptions> keys = make_speech_keys();
  return keys;
}

}  // namespace fovea::data
