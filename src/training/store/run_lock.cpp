#include "training/store/run_lock.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace fovea::training {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string content_of(int fd) {
  std::array<char, 512> buffer{};
  const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), 0);
  std::string text(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// True if the file at `path` is still the one behind `fd`: its last owner may have removed it
// between our open and our lock.
bool is_same_file(int fd, const std::filesystem::path& path) {
  struct stat own {};
  struct stat there {};
  return ::fstat(fd, &own) == 0 && ::stat(path.c_str(), &there) == 0 &&
         own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& run_folder) : path_(run_folder / "run.lock") {
  const auto fail = [&](const std::string& what) {
    if (fd_ >= 0) ::close(fd_);
    throw FileError(fmt::format("{}: {}", path_.string(), what));
  };
  for (;;) {
    // What a link leads to is somebody else's, and a pipe is no file.
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (fd_ < 0 && errno == ELOOP) fail("is a link to another file; remove it");
    if (fd_ < 0) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
    struct stat info {};
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) fail("is no file; remove it");
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail(fmt::format("cannot be locked: {}", std::strerror(errno)));
      fail(fmt::format("the run is in use by {}", content_of(fd_)));
    }
    if (is_same_file(fd_, path_)) break;
    ::close(fd_);
  }
  const std::string before = content_of(fd_);
  const std::string host = host_name();
  if (!before.empty() && !before.ends_with("host " + host)) {
    fail(fmt::format("the run is in use by {}; if that program is gone, delete this file", before));
  }
  const std::string text = fmt::format("process {} on host {}\n", ::getpid(), host);
  if (::ftruncate(fd_, 0) != 0 ||
      ::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    fail(fmt::format("cannot be written: {}", std::strerror(errno)));
  }
}

RunLock::~RunLock() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
}

}  // namespace fovea::training
