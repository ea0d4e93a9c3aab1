#include "data/audio/speech_part.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::data {

SpeechFiles::SpeechFiles(const char* reader, const std::vector<Spoken>& spoken,
                         std::vector<std::filesystem::path> other_files)
    : other_files_(std::move(other_files)) {
  FOVEA_CHECK(!spoken.empty(), FileError, fmt::format("{}: a part holds no recording", reader));
  for (const Spoken& one : spoken) {
    Recording recording{one.file.string(), one.transcript, 1, 0};
    try {
      const SoundInfo info = sound_info(one.file);
      recording.sample_rate = info.sample_rate;
      recording.samples = info.samples;
    } catch (const FileError& error) {
      problems_.push_back({size(), error.what()});
    }
    add(std::move(recording));
  }
}

std::vector<std::filesystem::path> SpeechFiles::files() const {
  std::vector<std::filesystem::path> files = other_files_;
  for (std::int64_t i = 0; i < size(); ++i) files.emplace_back(name(i));
  return files;
}

}  // namespace fovea::data
