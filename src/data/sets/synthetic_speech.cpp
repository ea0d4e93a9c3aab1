// Tones that stand for words: a small task of transcription that needs no file, for tests and first
// steps. Recording i is a function of the seed and i.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <numbers>

#include "data/audio/speech_options.h"
#include "data/registry.h"
#include "tensor/random.h"

namespace fovea::data {
namespace {

// A scale, with the frequencies of its tones.
struct Note {
  const char* word;
  double hertz;
};
constexpr std::array<Note, 7> kNotes = {{{"do", 523.25},
                                         {"re", 659.25},
                                         {"mi", 830.61},
                                         {"fa", 1046.5},
                                         {"sol", 1318.5},
                                         {"la", 1661.2},
                                         {"ti", 2093.0}}};

struct TonesOptions : SpeechOptions {
  std::int64_t num_words = 4, max_words = 4;
  double word_seconds = 0.16, hiss = 0.02;
  std::int64_t train_size = 64, test_size = 16, tone_seed = 0, tone_rate = 8000;
};

class Tones final : public SpeechPart {
 public:
  Tones(const Place& place, const TonesOptions& o)
      : o_(o),
        part_(name_of(place.split)),
        stream_(RandomStream(static_cast<std::uint64_t>(o.tone_seed))
                    .fork("synthetic_speech")
                    .fork(part_)) {
    const std::int64_t size = place.split == Split::kTest ? o.test_size : o.train_size;
    for (std::int64_t i = 0; i < size; ++i) {
      std::string transcript;
      std::int64_t samples = gap();
      for (const Tone& tone : tones_of(i)) {
        if (!transcript.empty()) transcript += ' ';
        transcript += kNotes[tone.note].word;
        samples += tone.samples + gap();
      }
      add({fmt::format("synthetic_speech/{}/{}", part_, i), transcript, o.tone_rate, samples});
    }
  }

  Sound read(std::int64_t index) const override {
    Sound sound{o_.tone_rate, std::vector<float>(static_cast<std::size_t>(gap()), 0.0f)};
    for (const Tone& tone : tones_of(index)) {
      for (std::int64_t k = 0; k < tone.samples; ++k) {
        const double place = static_cast<double>(k) / static_cast<double>(tone.samples);
        const double phase = 2 * std::numbers::pi * kNotes[tone.note].hertz * tone.pitch *
                             static_cast<double>(k) / static_cast<double>(o_.tone_rate);
        const double swell = std::sin(std::numbers::pi * place);
        sound.samples.push_back(static_cast<float>(0.4 * swell * std::sin(phase)));
      }
      sound.samples.resize(sound.samples.size() + static_cast<std::size_t>(gap()), 0.0f);
    }
    const RandomStream hiss = stream_.fork(static_cast<std::uint64_t>(index)).fork("hiss");
    for (std::size_t k = 0; k < sound.samples.size(); ++k)
      sound.samples[k] += static_cast<float>(o_.hiss * hiss.normal(k));
    return sound;
  }

  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string recipe() const override {
    return fmt::format(
        "synthetic_speech: num_words {} max_words {} word_seconds {} hiss {} train_size {} "
        "test_size {} tone_seed {} tone_rate {}",
        o_.num_words, o_.max_words, o_.word_seconds, o_.hiss, o_.train_size, o_.test_size,
        o_.tone_seed, o_.tone_rate);
  }

 private:
  struct Tone {
    std::size_t note = 0;
    std::int64_t samples = 0;
    double pitch = 1;  // factor
  };
  // Silence before, between and behind.
  std::int64_t gap() const {
    return std::lround(0.4 * o_.word_seconds * static_cast<double>(o_.tone_rate));
  }
  std::vector<Tone> tones_of(std::int64_t index) const {
    const RandomStream draws = stream_.fork(static_cast<std::uint64_t>(index));
    const RandomStream words = draws.fork("words"), length = draws.fork("length"),
                       pitch = draws.fork("pitch");
    std::vector<Tone> tones;
    const std::int64_t count = 1 + draws.fork("count").below(o_.max_words, 0);
    for (std::int64_t n = 0; n < count; ++n) {
      const auto draw = static_cast<std::uint64_t>(n);
      const double seconds = o_.word_seconds * (0.8 + 0.4 * double{length.uniform(draw)});
      tones.push_back(
          {static_cast<std::size_t>(words.below(o_.num_words, draw)),
           std::max<std::int64_t>(1, std::lround(seconds * static_cast<double>(o_.tone_rate))),
           0.97 + 0.06 * double{pitch.uniform(draw)}});
    }
    return tones;
  }

  TonesOptions o_;
  std::string part_;
  RandomStream stream_;
};

std::unique_ptr<SpeechPart> open_tones(const Place& place, const TonesOptions& o) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<Tones>(place, o);
}

}  // namespace

FOVEA_DATASET(
    synthetic_speech, open_tones, "words as tones, made in memory", "datasets/synthetic.md",
    schema::Fields<TonesOptions>{}
        .add("num_words", &TonesOptions::num_words, schema::in_range(1, 7), "words there are")
        .add("max_words", &TonesOptions::max_words, schema::in_range(1, 64),
             "most words of a recording; it has 1 or more")
        .add("word_seconds", &TonesOptions::word_seconds, schema::in_range(0.02, 10),
             "length of a word, which varies by a fifth")
        .add("hiss", &TonesOptions::hiss, schema::at_least(0),
             "standard deviation of the noise; tones are at most 0.4")
        .add("train_size", &TonesOptions::train_size, schema::at_least(1), "recordings of train")
        .add("test_size", &TonesOptions::test_size, schema::at_least(1), "recordings of test")
        .add("tone_seed", &TonesOptions::tone_seed, schema::at_least(0), "seed of the recordings")
        .add("tone_rate", &TonesOptions::tone_rate, schema::in_range(6000, 48000),
             "hertz of the recordings"))

}  // namespace fovea::data
