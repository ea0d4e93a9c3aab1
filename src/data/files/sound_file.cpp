#include "data/files/sound_file.h"

#include <fmt/format.h>
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/file.h"

namespace fovea::data {
namespace {

constexpr std::int64_t kMostChannels = 64, kMostRate = 1000000, kMostSeconds = 86400;

// The file as libsndfile asks for it; it is opened by io::ReadFile, which refuses pipes.
struct SoundBytes {
  explicit SoundBytes(const std::filesystem::path& path) : file(path) {}
  io::ReadFile file;
  sf_count_t at = 0;
  bool failed = false;
};

SoundBytes& bytes_of(void* user) { return *static_cast<SoundBytes*>(user); }
sf_count_t size_of_file(void* user) { return static_cast<sf_count_t>(bytes_of(user).file.size()); }
sf_count_t tell(void* user) { return bytes_of(user).at; }
sf_count_t write_nothing(const void*, sf_count_t, void*) { return 0; }

sf_count_t seek(sf_count_t offset, int whence, void* user) {
  SoundBytes& bytes = bytes_of(user);
  const sf_count_t from = whence == SEEK_SET   ? 0
                          : whence == SEEK_CUR ? bytes.at
                                               : size_of_file(user);
  bytes.at = std::max<sf_count_t>(0, from + offset);
  return bytes.at;
}

// (No exception may pass through libsndfile.)
sf_count_t read_bytes(void* to, sf_count_t count, void* user) {
  SoundBytes& bytes = bytes_of(user);
  try {
    const std::size_t read =
        bytes.file.read_at(static_cast<std::uint64_t>(bytes.at),
                           {static_cast<std::byte*>(to), static_cast<std::size_t>(count)});
    bytes.at += static_cast<sf_count_t>(read);
    return static_cast<sf_count_t>(read);
  } catch (const FileError&) {
    bytes.failed = true;
    return 0;
  }
}

class OpenSound {
 public:
  explicit OpenSound(const std::filesystem::path& path) : name_(path.string()), bytes_(path) {
    SF_VIRTUAL_IO io{size_of_file, seek, read_bytes, write_nothing, tell};
    SF_INFO info{};
    file_.reset(sf_open_virtual(&io, SFM_READ, &info, &bytes_));
    FOVEA_CHECK(file_ != nullptr, FileError,
                fmt::format("{}: is no recording that can be read: {}", name_, message()));
    FOVEA_CHECK(
        info.channels >= 1 && info.channels <= kMostChannels && info.samplerate >= 1 &&
            info.samplerate <= kMostRate && info.frames >= 0 &&
            info.frames / info.samplerate <= kMostSeconds,
        FileError,
        fmt::format("{}: {} samples of {} channels at {} Hz; expected a day or less, 1 to "
                    "{} channels, 1 to {} Hz",
                    name_, info.frames, info.channels, info.samplerate, kMostChannels, kMostRate));
    info_ = {info.samplerate, info.channels, info.frames};
  }
  const SoundInfo& info() const { return info_; }

  std::vector<float> mean_of_channels() {
    constexpr std::int64_t kBlock = 1 << 16;
    std::vector<float> mean, block(static_cast<std::size_t>(kBlock * info_.channels));
    while (std::ssize(mean) < info_.samples) {
      const sf_count_t wanted = std::min(kBlock, info_.samples - std::ssize(mean));
      const sf_count_t read = sf_readf_float(file_.get(), block.data(), wanted);
      FOVEA_CHECK(
          read == wanted && !bytes_.failed, FileError,
          fmt::format("{}: the header says {} samples, the file holds {}; the copy or "
                      "download was cut short",
                      name_, info_.samples, std::ssize(mean) + std::max<sf_count_t>(0, read)));
      for (sf_count_t i = 0; i < read; ++i) {
        const float* all = block.data() + i * info_.channels;
        float sum = 0;
        for (std::int64_t c = 0; c < info_.channels; ++c) sum += all[c];
        mean.push_back(sum / static_cast<float>(info_.channels));
        FOVEA_CHECK(std::isfinite(mean.back()), FileError,
                    fmt::format("{}: sample {} is not finite", name_, mean.size() - 1));
      }
    }
    return mean;
  }

 private:
  struct Close {
    void operator()(SNDFILE* file) const { sf_close(file); }
  };
  std::string message() const {
    return bytes_.failed ? "it cannot be read" : sf_strerror(file_.get());
  }

  std::string name_;
  SoundBytes bytes_;
  std::unique_ptr<SNDFILE, Close> file_;
  SoundInfo info_;
};

}  // namespace

std::string sndfile_version() { return sf_version_string(); }

SoundInfo sound_info(const std::filesystem::path& file) { return OpenSound(file).info(); }

Sound read_sound(const std::filesystem::path& file) {
  OpenSound sound(file);
  return {sound.info().sample_rate, sound.mean_of_channels()};
}

}  // namespace fovea::data
