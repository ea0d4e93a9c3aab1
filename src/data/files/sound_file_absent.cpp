// For builds without libsndfile.
#include <fmt/format.h>

#include "base/error.h"
#include "data/files/sound_file.h"

namespace fovea::data {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file) {
  throw FileError(fmt::format(
      "{}: this program is built without libsndfile, which reads recordings; install it "
      "(libsndfile1-dev) and build again",
      file.string()));
}

}  // namespace

std::string sndfile_version() { return {}; }
SoundInfo sound_info(const std::filesystem::path& file) { refuse(file); }
Sound read_sound(const std::filesystem::path& file) { refuse(file); }

}  // namespace fovea::data
