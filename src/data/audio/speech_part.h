// The recordings of one part of a data set as its files provide them: what is said and how long it
// takes is known when the part is opened, samples come on demand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/files/sound_file.h"
#include "data/part.h"

namespace fovea::data {

struct Recording {
  std::string name;  // its file, or how it is made
  std::string transcript;
  std::int64_t sample_rate = 0, samples = 0;

  double seconds() const { return static_cast<double>(samples) / static_cast<double>(sample_rate); }
};

/// Thread-safe after construction.
class SpeechPart : public Part {
 public:
  bool has_classes() const override { return false; }
  const std::vector<std::string>& class_names() const override { return none_; }
  std::string name(std::int64_t index) const override { return recording(index).name; }
  const Recording& recording(std::int64_t index) const {
    return recordings_[static_cast<std::size_t>(index)];
  }
  /// Throws FileError.
  virtual Sound read(std::int64_t index) const = 0;

 protected:
  void add(Recording recording) {
    recordings_.push_back(std::move(recording));
    labels_.push_back(0);
  }

 private:
  std::vector<Recording> recordings_;
  std::vector<std::string> none_;
};

/// Recordings in files, whose headers are read when the part is opened. One that cannot be read is
/// a problem of the part.
class SpeechFiles final : public SpeechPart {
 public:
  struct Spoken {
    std::filesystem::path file;
    std::string transcript;
  };
  /// other_files: where the transcripts stand. Throws FileError for a part without recordings,
  /// whose message starts with `reader`.
  SpeechFiles(const char* reader, const std::vector<Spoken>& spoken,
              std::vector<std::filesystem::path> other_files);

  Sound read(std::int64_t index) const override { return read_sound(name(index)); }
  std::vector<std::filesystem::path> files() const override;
  void note(std::string text) { notes_.push_back(std::move(text)); }

 private:
  std::vector<std::filesystem::path> other_files_;
};

}  // namespace fovea::data
