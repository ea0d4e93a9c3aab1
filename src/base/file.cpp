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
  if (fault_hook()) {
    if (const int injected = fault_hook()(name)) {
      throw FileError(
          fmt::format("{}: {} failed: {}", path.string(), name, std::strerror(injected)));
    }
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

template <class Container>
Container read_all(const fs::path& path, std::uint64_t max_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) throw FileError(fmt::format("{}: not found", path.string()));
    throw FileError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  const Descriptor guard(fd);
  struct stat info {};
  checked("stat", path, [&] { return ::fstat(fd, &info); });
  FOVEA_CHECK(!S_ISDIR(info.st_mode), FileError,
              fmt::format("{}: is a folder, expected a file", path.string()));
  Container content;
  if (S_ISREG(info.st_mode)) {
    FOVEA_CHECK(static_cast<std::uint64_t>(info.st_size) <= max_bytes, FileError,
                fmt::format("{}: holds {} bytes, at most {} expected", path.string(), info.st_size,
                            max_bytes));
    content.reserve(static_cast<std::size_t>(info.st_size) + 1);
  }
  // One byte more than the file is said to hold, so that its end is seen without growing: clearing
  // a fixed large chunk costs far more than reading a small file.
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  const auto chunk = static_cast<std::size_t>(
      S_ISREG(info.st_mode) ? std::clamp<std::int64_t>(info.st_size + 1, 256, kMost) : kMost);
  for (;;) {
    const std::size_t have = content.size();
    content.resize(have + chunk);
    const auto got =
        checked("read", path, [&] { return ::read(fd, content.data() + have, chunk); });
    content.resize(have + static_cast<std::size_t>(got));
    if (got == 0) return content;
    FOVEA_CHECK(content.size() <= max_bytes, FileError,
                fmt::format("{}: more than the expected {} bytes", path.string(), max_bytes));
  }
}

}  // namespace

void set_fault_hook(std::function<int(std::string_view call)> hook) {
  fault_hook() = std::move(hook);
}

std::string read_text(const fs::path& path, std::uint64_t max_bytes) {
  return read_all<std::string>(path, max_bytes);
}

std::vector<std::byte> read_bytes(const fs::path& path, std::uint64_t max_bytes) {
  return read_all<std::vector<std::byte>>(path, max_bytes);
}

File::File(const fs::path& path, Mode mode) : path_(path) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mode == Mode::kAppend ? O_APPEND : O_TRUNC);
  fd_ = checked("open", path_, [&] { return ::open(path_.c_str(), flags, 0644); });
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
  fs::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
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
