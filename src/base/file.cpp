#include "base/file.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/fault_hook.h"
#include "base/holder.h"

namespace fovea::io {
namespace {

std::function<int(std::string_view)>& fault_hook() {
  static std::function<int(std::string_view)> hook;
  return hook;
}

// Runs one system call, retried on EINTR, with the test hook in front. `call` returns < 0 and sets
// errno on failure.
template <class Call>
auto checked(std::string_view name, const fs::path& path, Call call) {
  if (const int injected = injected_fault(name)) {
    throw FileError(fmt::format("{}: {} failed: {}", path.string(), name, std::strerror(injected)));
  }
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  if (result < 0) {
    throw FileError(fmt::format("{}: {} failed: {}", path.string(), name, std::strerror(errno)));
  }
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// What a path names instead of a file; nothing for a file.
const char* no_file(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISLNK(mode) ? "a link" : "a device";
}

void refuse_no_file(const fs::path& path, mode_t mode) {
  if (const char* what = no_file(mode))
    throw FileError(fmt::format("{}: is {}, expected a file", path.string(), what));
}

// The only place that opens files for reading. The type is checked first, since opening a device
// may already have an effect. O_NONBLOCK: a pipe that takes the file's place meanwhile does not
// block.
int open_to_read(const fs::path& path) {
  struct stat info {};
  const bool found = ::stat(path.c_str(), &info) == 0;
  if (!found && (errno == ENOENT || errno == ENOTDIR))
    throw FileError(fmt::format("{}: not found", path.string()));
  if (found) refuse_no_file(path, info.st_mode);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    throw FileError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return fd;
  ::close(fd);
  refuse_no_file(path, info.st_mode);
  throw FileError(fmt::format("{}: cannot be read", path.string()));
}

template <class Container>
Container read_all(const fs::path& path, std::uint64_t max_bytes) {
  const ReadFile file(path);
  const std::uint64_t size = file.size();
  FOVEA_CHECK(
      size <= max_bytes, FileError,
      fmt::format("{}: holds {} bytes, at most {} expected", path.string(), size, max_bytes));
  Container content;
  content.reserve(static_cast<std::size_t>(size) + 1);
  // One byte more than the reported size, so that the end is seen without growing the buffer:
  // clearing a fixed large chunk costs far more than reading a small file.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  const auto chunk = static_cast<std::size_t>(std::clamp<std::uint64_t>(size + 1, 256, kMost));
  for (;;) {
    const std::size_t have = content.size();
    content.resize(have + chunk);
    const std::size_t got =
        file.read_at(have, std::as_writable_bytes(std::span(content).subspan(have)));
    content.resize(have + got);
    FOVEA_CHECK(content.size() <= max_bytes, FileError,
                fmt::format("{}: more than the expected {} bytes", path.string(), max_bytes));
    if (got < chunk) return content;
  }
}

}  // namespace

int injected_fault(std::string_view call) { return fault_hook() ? fault_hook()(call) : 0; }

void set_fault_hook(std::function<int(std::string_view call)> hook) {
  fault_hook() = std::move(hook);
}

ReadFile::ReadFile(const fs::path& path) : path_(path), fd_(open_to_read(path)) {}

ReadFile::~ReadFile() { ::close(fd_); }

std::uint64_t ReadFile::size() const {
  struct stat info {};
  checked("stat", path_, [&] { return ::fstat(fd_, &info); });
  return static_cast<std::uint64_t>(info.st_size);
}

std::size_t ReadFile::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  std::size_t have = 0;
  while (have < to.size()) {
    const auto got = checked("read", path_, [&] {
      return ::pread(fd_, to.data() + have, to.size() - have, static_cast<off_t>(offset + have));
    });
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

void ReadFile::read_all_at(std::uint64_t offset, std::span<std::byte> to) const {
  FOVEA_CHECK(read_at(offset, to) == to.size(), FileError,
              fmt::format("{}: ends before byte {}; it became shorter while it was read",
                          path_.string(), offset + to.size()));
}

std::vector<std::byte> read_beginning(const fs::path& path, std::size_t count) {
  std::vector<std::byte> begin(count);
  begin.resize(ReadFile(path).read_at(0, begin));
  return begin;
}

std::string read_text(const fs::path& path, std::uint64_t max_bytes) {
  return read_all<std::string>(path, max_bytes);
}

std::vector<std::byte> read_bytes(const fs::path& path, std::uint64_t max_bytes) {
  return read_all<std::vector<std::byte>>(path, max_bytes);
}

File::File(const fs::path& path, Mode mode) : path_(path) {
  // O_NONBLOCK: a pipe without a reader does not block. Truncated only once it is known to be a
  // file.
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
                    (mode == Mode::kAppend ? O_APPEND : 0);
  struct stat info {};
  if (::lstat(path_.c_str(), &info) == 0) refuse_no_file(path_, info.st_mode);
  fd_ = checked("open", path_, [&] { return ::open(path_.c_str(), flags, 0644); });
  try {
    checked("stat", path_, [&] { return ::fstat(fd_, &info); });
    refuse_no_file(path_, info.st_mode);
    if (mode == Mode::kCreate && info.st_size > 0)
      checked("truncate", path_, [&] { return ::ftruncate(fd_, 0); });
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

void File::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto done = checked("write", path_, [&] { return ::write(fd_, next, bytes); });
    next += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void File::truncate(std::uint64_t bytes) {
  checked("truncate", path_, [&] { return ::ftruncate(fd_, static_cast<off_t>(bytes)); });
}

std::uint64_t File::size() const {
  struct stat info {};
  checked("stat", path_, [&] { return ::fstat(fd_, &info); });
  return static_cast<std::uint64_t>(info.st_size);
}

void File::sync() {
  checked("fsync", path_, [&] { return ::fsync(fd_); });
}

void File::close() {
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0) checked("close", path_, [&] { return ::close(fd); });
}

void write_atomic(const fs::path& path, std::string_view content) {
  // A link is replaced itself; its target stays.
  struct stat info {};
  const bool there = ::lstat(path.c_str(), &info) == 0;
  if (there && !S_ISLNK(info.st_mode)) refuse_no_file(path, info.st_mode);
  fs::path temporary = path;
  temporary += fmt::format(".{}.tmp", process_digits());
  try {
    File file(temporary, File::Mode::kCreate);
    file.write(content);
    file.sync();
    file.close();
    checked("rename", path, [&] { return ::rename(temporary.c_str(), path.c_str()); });
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_directory(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

bool exists_at_all(const fs::path& path) {
  std::error_code code;
  return fs::exists(fs::symlink_status(path, code));
}

std::string temporary_of(const std::string& name) {
  constexpr std::string_view kEnd = ".tmp";
  if (!name.ends_with(kEnd)) return "";
  const std::string before = name.substr(0, name.size() - kEnd.size());
  const std::size_t dot = before.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == before.size()) return "";
  const bool process = before.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return process ? before.substr(0, dot) : "";
}

void make_directories(const fs::path& path) {
  if (path.empty()) return;
  std::error_code code;
  if (fs::is_directory(path, code)) return;
  make_directories(path.parent_path());
  checked("mkdir", path, [&] {
    const int result = ::mkdir(path.c_str(), 0755);
    return result < 0 && errno == EEXIST && fs::is_directory(path) ? 0 : result;
  });
}

void sync_directory(const fs::path& path) {
  const Descriptor guard(checked(
      "open", path, [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  checked("fsync", path, [&] { return ::fsync(guard.get()); });
}

void move(const fs::path& from, const fs::path& to) {
  checked("rename", to, [&] { return ::rename(from.c_str(), to.c_str()); });
  sync_directory(to.has_parent_path() ? to.parent_path() : fs::path("."));
}

void remove_all(const fs::path& path) {
  checked("unlink", path, [&] {
    std::error_code code;
    fs::remove_all(path, code);
    if (code) errno = code.value();
    return code ? -1 : 0;
  });
}

}  // namespace fovea::io
