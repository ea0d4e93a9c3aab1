// Recordings in files: WAV, FLAC and others that libsndfile reads. The library is optional: in a
// program that is built without it every file is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fovea::data {

/// "libsndfile-1.2.0", or "" where the program is built without.
std::string sndfile_version();

struct SoundInfo {
  std::int64_t sample_rate = 0;  // samples a second
  std::int64_t channels = 0;
  std::int64_t samples = 0;  // of each channel
};

/// A recording, of several channels their mean, in [-1, 1].
struct Sound {
  std::int64_t sample_rate = 0;
  std::vector<float> samples;
};

/// .wav, .flac, .ogg, .aiff, .aif, .au, whatever the case.
bool has_sound_extension(const std::filesystem::path& file);

/// Throws FileError for what is no such file, and for more than a day of sound.
SoundInfo sound_info(const std::filesystem::path& file);
/// Throws FileError too where the file ends before its header says, and for samples that are not
/// finite.
Sound read_sound(const std::filesystem::path& file);

}  // namespace fovea::data
