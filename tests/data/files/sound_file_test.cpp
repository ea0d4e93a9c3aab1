#include "data/files/sound_file.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/data/files.h"
#include "tests/data/sounds.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

bool without_sndfile() {
  if (!sndfile_version().empty()) return false;
  WARN("built without libsndfile: no recording is read");
  return true;
}

}  // namespace

TEST_CASE("sound files: samples of 16 bits, and the mean of channels", "[data]") {
  if (without_sndfile()) return;
  const Folder folder;
  const auto mono = folder.write("a.wav", wav_bytes({0, 16384, -32768, 8192}, 8000));
  const SoundInfo info = sound_info(mono);
  CHECK(info.sample_rate == 8000);
  CHECK(info.channels == 1);
  CHECK(info.samples == 4);
  const Sound sound = read_sound(mono);
  CHECK(sound.sample_rate == 8000);
  CHECK(sound.samples == std::vector<float>{0, 0.5f, -1, 0.25f});
  const auto stereo = folder.write("b.wav", wav_bytes({16384, 0, -16384, 16384}, 44100, 2));
  CHECK(read_sound(stereo).samples == std::vector<float>{0.25f, 0});
  CHECK(read_sound(folder.write("none.wav", wav_bytes({}, 8000))).samples.empty());
}

TEST_CASE("sound files: damaged ones are refused by name", "[data]") {
  if (without_sndfile()) return;
  const Folder folder;
  const std::string whole = wav_bytes(tone_samples(440, 8000, 400), 8000);
  const auto cut = folder.write("cut.wav", whole.substr(0, whole.size() - 300));
  // (libsndfile believes the length of the file before that of the header.)
  CHECK_NOTHROW(sound_info(cut));
  CHECK_THROWS_WITH(read_sound(folder.write("text.wav", "no recording at all")),
                    Catch::Contains("text.wav: is no recording that can be read"));
  CHECK_THROWS_AS(sound_info(folder.write("empty.wav", "")), FileError);
  CHECK_THROWS_AS(read_sound(folder.path / "missing.wav"), FileError);
  CHECK_THROWS_AS(read_sound(folder.path), FileError);
  // Any byte of the header may be wrong: nothing but a FileError comes of it.
  int refused = 0;
  for (std::size_t i = 0; i < 44; ++i) {
    for (const int change : {0x80, 0xFF, 0x01}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      const auto path =
          folder.write("damaged" + std::to_string(i) + "_" + std::to_string(change), damaged);
      std::size_t samples = 0;
      try {
        samples = read_sound(path).samples.size();
      } catch (const FileError&) {
        ++refused;
      }
      CHECK(samples <= 1000);
    }
  }
  CHECK(refused > 20);
}

TEST_CASE("sound files: names", "[data]") {
  CHECK(has_sound_extension("a/b.WAV"));
  CHECK(has_sound_extension("x.flac"));
  CHECK_FALSE(has_sound_extension("x.txt"));
  CHECK_FALSE(has_sound_extension("wav"));
}
